package sglang

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"furlong/api/sglang"
	"furlong/weightsync"
)

// stream gives a server a version over the connection, in a session: all of it is taken up at the session's end, or nothing is.
func (e *Engine) stream(ctx context.Context, s *server, p *parcel) error {
	if err := e.begin(ctx, s); err != nil {
		return err
	}
	for _, b := range buckets(p.tensors, e.cfg.Bucket) {
		if err := e.bucket(ctx, s, p.label, b); err != nil {
			return errors.Join(err, e.breakOff(ctx, s))
		}
	}
	return e.outcome(ctx, s, "/end_weight_update", struct{}{})
}

// begin opens a session. One that somebody left open is closed first: whatever becomes of it, all of the weights come now.
func (e *Engine) begin(ctx context.Context, s *server) error {
	all := sglang.BeginUpdate{Selector: "all"}
	err := e.outcome(ctx, s, "/begin_weight_update", all)
	if status(err) != http.StatusBadRequest {
		return err
	}
	e.log.Warn("a session of weights was open already", "url", s.url, "why", err.Error())
	if err := e.outcome(ctx, s, "/end_weight_update", struct{}{}); err != nil && status(err) != http.StatusBadRequest {
		return err
	}
	return e.outcome(ctx, s, "/begin_weight_update", all)
}

// breakOff closes the session of an update that failed: the server drops what it has.
func (e *Engine) breakOff(ctx context.Context, s *server) error {
	short, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	err := e.outcome(short, s, "/end_weight_update", struct{}{})
	if status(err) == http.StatusBadRequest {
		return nil // that is how it says so
	}
	if err == nil {
		return errors.New("the server took up a version of which a part was refused")
	}
	return err
}

// outcome makes a call about weights, which can also fail in words.
func (e *Engine) outcome(ctx context.Context, s *server, path string, body any) error {
	var o sglang.Outcome
	if err := e.wire.post(ctx, s.url, path, body, &o); err != nil {
		return err
	}
	if !o.Success {
		return fmt.Errorf("%s: %s", path, o.Message)
	}
	return nil
}

// bucket sends a part of a version.
func (e *Engine) bucket(ctx context.Context, s *server, label string, b []weightsync.Tensor) error {
	reader, size, err := encode(b)
	if err != nil {
		return err
	}
	body := &lent{Reader: reader, back: make(chan struct{})}
	q := url.Values{"weight_version": {label}, "selector": {"all"}}
	text, err := e.wire.call(ctx, http.MethodPost, s.url, "/update_weights_from_stream?"+q.Encode(), "application/octet-stream", body, size)
	<-body.back
	if err != nil {
		return err
	}
	var o sglang.Outcome
	if err := json.Unmarshal(text, &o); err != nil || !o.Success {
		return fmt.Errorf("/update_weights_from_stream: success is %v: %s", o.Success, o.Message)
	}
	return nil
}

// A lent is a body over memory that changes later. A call that was ended may read on for a moment: who has lent it waits until it is closed.
type lent struct {
	io.Reader
	once sync.Once
	back chan struct{} // closed with it
}

// Close gives the memory back.
func (l *lent) Close() error {
	l.once.Do(func() { close(l.back) })
	return nil
}

// buckets cuts tensors, in their order, into lists of at most so many bytes; a longer tensor is one by itself.
func buckets(ts []weightsync.Tensor, most int) (out [][]weightsync.Tensor) {
	size := 0
	for _, t := range ts {
		if len(out) == 0 || size+len(t.Mem) > most {
			out, size = append(out, nil), 0
		}
		out[len(out)-1] = append(out[len(out)-1], t)
		size += len(t.Mem)
	}
	return out
}

// encode returns a reader of a file of tensors, over their own memory, and its size.
func encode(ts []weightsync.Tensor) (io.Reader, int64, error) {
	type entry struct {
		Type    string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets [2]int `json:"data_offsets"`
	}
	header, at := map[string]entry{}, 0
	parts := make([]io.Reader, 1, len(ts)+1)
	for _, t := range ts {
		shape := append([]int{}, t.Shape...) // never null
		header[t.Name] = entry{t.Type, shape, [2]int{at, at + len(t.Mem)}}
		at += len(t.Mem)
		parts = append(parts, bytes.NewReader(t.Mem))
	}
	head, err := json.Marshal(header)
	if err != nil {
		return nil, 0, err
	}
	for len(head)%8 != 0 {
		head = append(head, ' ')
	}
	head = append(binary.LittleEndian.AppendUint64(nil, uint64(len(head))), head...)
	parts[0] = bytes.NewReader(head)
	return io.MultiReader(parts...), int64(len(head) + at), nil
}
