package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"furlong/api/sglang"
	"furlong/checkpoint/intake"
)

// firstGroup is what a group is called that nobody named.
const firstGroup = "weight_update_group"

func groupName(name string) string {
	if name == "" {
		return firstGroup
	}
	return name
}

// initGroup joins a group, whose other members wait meanwhile.
func (s *Server) initGroup(w http.ResponseWriter, r *http.Request) {
	var g sglang.InitGroup
	if !s.read(w, r, &g) {
		return
	}
	s.inTurn(w, r, func(ctx context.Context) (string, error) { return s.join(ctx, g) })
}

func (s *Server) join(ctx context.Context, g sglang.InitGroup) (string, error) {
	g.Name = groupName(g.Name)
	if g.Backend == "" {
		g.Backend = "nccl"
	}
	switch {
	case g.Address == "" || g.Port < 1 || g.Port > 65535:
		return "", fmt.Errorf("master_address is %.100q and master_port %d, want those of the trainer", g.Address, g.Port)
	case g.WorldSize < 2 || g.RankOffset < 1 || g.RankOffset >= g.WorldSize:
		return "", fmt.Errorf("rank_offset is %d of world_size %d, want 1 to world_size-1: the trainer is 0", g.RankOffset, g.WorldSize)
	case s.updates.groups[g.Name] != nil:
		return "", fmt.Errorf("group %q is there already, want it destroyed first", g.Name)
	case s.parts.Weights.Join == nil:
		return "", fmt.Errorf("backend %.50q: an engine on a processor is in no group of NCCL or any other: %s", g.Backend, otherWays)
	}
	joined, err := s.parts.Weights.Join(ctx, g)
	if err != nil {
		return "", fmt.Errorf("group %q: %w", g.Name, err)
	}
	s.updates.groups[g.Name] = joined
	return fmt.Sprintf("joined group %q as rank %d of %d", g.Name, g.RankOffset, g.WorldSize), nil
}

func (s *Server) destroyGroup(w http.ResponseWriter, r *http.Request) {
	var g sglang.DestroyGroup
	if !s.readAny(w, r, &g) {
		return
	}
	s.inTurn(w, r, func(context.Context) (string, error) {
		name := groupName(g.Name)
		old := s.updates.groups[name]
		if old == nil {
			return "", fmt.Errorf("group %q is not there", name)
		}
		delete(s.updates.groups, name)
		return fmt.Sprintf("left group %q", name), old.Close()
	})
}

// updateFromGroup takes up a bucket that the trainer broadcasts.
func (s *Server) updateFromGroup(w http.ResponseWriter, r *http.Request) {
	var u sglang.UpdateDistributed
	if !s.read(w, r, &u) {
		return
	}
	s.inTurn(w, r, func(ctx context.Context) (string, error) { return s.fromGroup(ctx, u) })
}

// fromGroup looks at what is announced before anything is received; but once there is a group all of it is received, for the others wait.
func (s *Server) fromGroup(ctx context.Context, u sglang.UpdateDistributed) (string, error) {
	list, err := intake.Listed(u.Names, u.Dtypes, u.Shapes)
	if err != nil {
		return "", err
	}
	g := s.updates.groups[groupName(u.Group)]
	wrong := s.announced(u, list)
	if g == nil {
		return "", errors.Join(wrong, fmt.Errorf("group %q is not there: /init_weights_update_group makes one", groupName(u.Group)))
	}
	buffers, whole := buffersFor(list, or(u.LoadFormat, "") != "")
	if err := g.Receive(ctx, buffers); err != nil {
		return "", errors.Join(wrong, fmt.Errorf("group %q: %w", groupName(u.Group), err))
	}
	if wrong != nil {
		return "", fmt.Errorf("%w (what was broadcast is dropped)", wrong)
	}
	tensors, err := intake.Flattened(whole, "uint8", list)
	if err != nil {
		return "", err
	}
	return s.bucket(ctx, mannerOf("distributed", u.Version, u.AbortAll, u.FlushCache), func(x *intake.Session) error { return x.Put(tensors) })
}

// announced says what is wrong with a bucket that is yet to come.
func (s *Server) announced(u sglang.UpdateDistributed, list []intake.Flat) error {
	if format := or(u.LoadFormat, ""); format != "" && format != "flattened_bucket" {
		return fmt.Errorf("load_format is %.50q, want null or flattened_bucket", format)
	}
	if err := selected(u.Selector); err != nil {
		return err
	}
	x := s.updates.session
	if x == nil && s.cfg.StrictSessions {
		return errNoSession
	}
	if x == nil {
		x = s.newSession()
	}
	return x.Check(list)
}

// buffersFor returns memory for tensors end to end, as one buffer or as one for each.
func buffersFor(list []intake.Flat, one bool) (buffers [][]byte, whole []byte) {
	if len(list) > 0 {
		whole = make([]byte, list[len(list)-1].End)
	}
	if one {
		return [][]byte{whole}, whole
	}
	for _, f := range list {
		buffers = append(buffers, whole[f.Start:f.End:f.End])
	}
	return buffers, whole
}
