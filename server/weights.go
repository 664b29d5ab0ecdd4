package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	"furlong/api/sglang"
	"furlong/checkpoint/intake"
	"furlong/rl"
	"furlong/rollout"
	"furlong/tensor"
)

// Weights are what a server needs to take up weights over HTTP.
type Weights struct {
	Model *intake.Model // what the engine holds
	Base  string        // folder of the checkpoint that is served from the start; "" if there is none
	Roots []string      // folders that requests may name files of

	// Fits says what of a checkpoint's folder, besides its weights, is not what is served: its configuration. nil: nothing is looked at.
	Fits func(dir string) error
	// Join makes the engine a member of a group of processes that broadcast. nil: there are no groups.
	Join func(ctx context.Context, g sglang.InitGroup) (Group, error)
}

// A Group is processes of which the first sends buckets to all others. One goroutine uses it at a time.
type Group interface {
	// Receive fills the buffers, in order, with what is broadcast.
	Receive(ctx context.Context, buffers [][]byte) error
	Close() error
}

// A Keeper is an engine whose weights can be read, compared and overwritten. *rollout.Engine is one.
type Keeper interface {
	Look(ctx context.Context, f func(params []*tensor.Param)) error
	Scramble(ctx context.Context, seed uint64) error
	Shed(ctx context.Context) error
}

var _ Keeper = (*rollout.Engine)(nil)

// updates is what a server knows of weights on their way. What stands under turn belongs to who holds its token: calls are carried out one after the
// other, in the order in which they came.
type updates struct {
	turn  chan struct{}
	roots roots
	away  atomic.Bool // weights were released

	// Under turn:
	session *session // that is open; nil
	last    rl.Version
	groups  map[string]Group
	kept    []*tensor.Param // a snapshot to compare with
}

// begin makes the updates of a server.
func (u *updates) begin(w *Weights) (err error) {
	u.turn, u.groups = make(chan struct{}, 1), map[string]Group{}
	if w != nil {
		u.roots, err = newRoots(w.Roots)
	}
	return err
}

func (s *Server) weightRoutes() []route {
	return []route{
		{"POST", "/begin_weight_update", admin, s.beginUpdate},
		{"POST", "/end_weight_update", admin, s.endUpdate},
		{"POST", "/post_process_weights", admin, s.postProcess},
		{"POST", "/update_weights_from_disk", admin, s.updateFromDisk},
		{"POST", "/update_weights_from_tensor", admin, s.updateFromTensor},
		{"POST", "/update_weights_from_stream", admin, s.updateFromStream},
		{"POST", "/update_weights_from_distributed", admin, s.updateFromGroup},
		{"POST", "/update_weights_from_ipc", admin, s.updateFromIPC},
		{"POST", "/init_weights_update_group", admin, s.initGroup},
		{"POST", "/destroy_weights_update_group", admin, s.destroyGroup},
		{"POST", "/pull_weights", admin, s.pullWeights},
		{"POST", "/update_weight_version", admin, s.updateVersion},
		{"GET|POST", "/get_weights_by_name", admin, s.weightsByName},
		{"GET|POST", "/weights_checker", admin, s.checkWeights},
		{"GET|POST", "/release_memory_occupation", admin, s.releaseMemory},
		{"GET|POST", "/resume_memory_occupation", admin, s.resumeMemory},
	}
}

var errFixed = errors.New("the weights of this server are fixed: it was started without what updates need")

// inTurn runs f when all calls before it are through, and answers what it says in the shape of weight endpoints.
func (s *Server) inTurn(w http.ResponseWriter, r *http.Request, f func(ctx context.Context) (string, error)) {
	message, err := s.next(r.Context(), f)
	s.outcome(w, r, sglang.Outcome{Success: true, Message: message}, err)
}

// next waits for its turn and runs f.
func (s *Server) next(ctx context.Context, f func(ctx context.Context) (string, error)) (string, error) {
	if s.parts.Weights == nil {
		return "", errFixed
	}
	select {
	case s.updates.turn <- struct{}{}:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	defer func() { <-s.updates.turn }()
	return f(ctx)
}

// outcome answers in the shape of weight endpoints: what could not be done is the request's fault, and a sentence.
func (s *Server) outcome(w http.ResponseWriter, r *http.Request, done sglang.Outcome, err error) {
	if err == nil {
		s.log.Info("weights", "path", r.URL.Path, "message", done.Message)
		write(w, http.StatusOK, done)
		return
	}
	if gone(r, err) {
		return
	}
	s.series.refused.Inc()
	known := refusal{status: http.StatusBadRequest}
	_ = errors.As(err, &known)
	err = refusal{known.status, strings.ReplaceAll(err.Error(), "\n", "; ")}
	s.complain(r, err)
	write(w, status(err), sglang.Outcome{Message: err.Error()})
}

// keeper returns the engine as one whose weights can be read.
func (s *Server) keeper() (Keeper, error) {
	k, ok := s.engine.(Keeper)
	if !ok {
		return nil, fmt.Errorf("the weights of this engine cannot be read")
	}
	return k, nil
}
