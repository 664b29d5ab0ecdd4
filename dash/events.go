package dash

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"furlong/dash/api"
	"furlong/dash/store"
)

const (
	headEvery    = time.Second      // how often a head is looked at for a change
	commentEvery = 15 * time.Second // so that both sides see that the other lives
	writeLimit   = 10 * time.Second // for one write to somebody who does not read
	lineMax      = 1 << 20          // longest row that a stream carries; the page asks for longer ones
)

// events streams what a run adds, from the place that the request names.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	if q := newQuery(r, eventsNames...); q.err != nil {
		s.fail(w, r, q.err)
		return
	}
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		write(w, http.StatusServiceUnavailable, api.Error{Error: fmt.Sprintf("%d streams are open, the most there can be", maxStreams), Hint: "close other tabs"})
		return
	}
	ctx := r.Context()
	err := s.o.Shelf.Use(r.PathValue("run"), func(run *store.Run) error { return s.stream(ctx, w, r, run) })
	if err != nil {
		s.fail(w, r, err)
	}
}

// stream answers with events of a run until ctx ends.
func (s *Server) stream(ctx context.Context, w http.ResponseWriter, r *http.Request, run *store.Run) error {
	from, err := place(r, run)
	if err != nil {
		return err
	}
	st := &stream{w: w, c: http.NewResponseController(w), run: run, tail: run.Follow(from)}
	st.begin()
	if r.Method == http.MethodHead {
		return st.flush()
	}
	st.follow(ctx, s.look)
	return nil
}

// place returns where a stream begins: behind the last event that a browser had, or at a place that is asked for, or with what comes next.
func place(r *http.Request, run *store.Run) (store.Place, error) {
	for _, id := range []string{r.Header.Get("Last-Event-ID"), r.URL.Query().Get("from")} {
		if id != "" {
			return store.ParsePlace(id)
		}
	}
	return run.Here()
}

// A stream is one open answer of events.
type stream struct {
	w    http.ResponseWriter
	c    *http.ResponseController
	run  *store.Run
	tail *store.Tail
	head []byte // the last one that was sent
	buf  bytes.Buffer
}

func (st *stream) begin() {
	h := st.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	st.w.WriteHeader(http.StatusOK)
	st.buf.WriteString("retry: 1000\n\n")
}

// follow looks at the files until the reader goes or the server ends. A run that serves its own page ends before its server does, so there is a last look:
// who watched to the end is told how it ended.
func (st *stream) follow(ctx context.Context, every time.Duration) {
	look := time.NewTicker(every)
	defer look.Stop()
	var headed, spoke time.Time
	for now := time.Now(); ; {
		err := st.tail.Poll(st.tell)
		if err == nil && now.Sub(headed) >= headEvery {
			headed = now
			err = st.tellHead()
		}
		if err == nil && now.Sub(spoke) >= commentEvery && st.buf.Len() == 0 {
			st.buf.WriteString(": still here\n\n")
		}
		if st.buf.Len() > 0 {
			spoke = now
		}
		if err != nil {
			st.gone(err)
			return
		}
		if st.flush() != nil {
			return
		}
		select {
		case <-ctx.Done():
			st.last()
			return
		case now = <-look.C:
		}
	}
}

// last sends what there is to say before the end. Where the reader is who went, nobody hears it.
func (st *stream) last() {
	st.run.Again()
	if st.tail.Poll(st.tell) == nil && st.tellHead() == nil {
		_ = st.flush() // the reader may be gone
	}
}

// tell sends what was added.
func (st *stream) tell(a store.Added) error {
	if len(a.Line) > lineMax {
		return nil
	}
	fmt.Fprintf(&st.buf, "id: %s\nevent: %s\ndata: ", a.After, a.Event)
	if a.Line == nil {
		st.buf.WriteString("{}")
	}
	st.buf.Write(bytes.ReplaceAll(a.Line, []byte("\r"), nil)) // blank between tokens of JSON, but the end of a line here
	st.buf.WriteString("\n\n")
	if st.buf.Len() > 64<<10 {
		return st.flush()
	}
	return nil
}

// tellHead sends the head if it is not what it was.
func (st *stream) tellHead() error {
	h, err := st.run.Head(false)
	if err != nil {
		return err
	}
	now, at := h.Now, h.At
	h.Now, h.At = 0, ""
	b, err := json.Marshal(h)
	if err != nil || bytes.Equal(b, st.head) {
		return err
	}
	st.head = b
	h.Now, h.At = now, at
	if b, err = json.Marshal(h); err != nil {
		return err
	}
	fmt.Fprintf(&st.buf, "event: head\ndata: %s\n\n", b)
	return nil
}

// gone says that the run is not there any more; other errors end the stream, and the browser comes again.
func (st *stream) gone(err error) {
	var a *store.Asked
	if errors.As(err, &a) && a.Status == store.Missing {
		st.buf.WriteString("event: gone\ndata: {}\n\n")
		_ = st.flush() // the reader may be gone too
	}
}

func (st *stream) flush() error {
	if st.buf.Len() == 0 {
		return nil
	}
	_ = st.c.SetWriteDeadline(time.Now().Add(writeLimit)) // a writer without deadlines is one of a test
	_, err := st.w.Write(st.buf.Bytes())
	st.buf.Reset()
	if err == nil {
		err = st.c.Flush()
	}
	return err
}
