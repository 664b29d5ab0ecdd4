package server

import (
	"encoding/json"
	"io"
	"net/http"

	"furlong/api/sglang"
)

// A frames writes server-sent events.
type frames struct {
	s   *Server
	w   http.ResponseWriter
	buf []byte
}

// begin answers 200 and the header of a stream.
func (s *Server) frames(w http.ResponseWriter) *frames {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	return &frames{s: s, w: w}
}

// send writes one value as a frame, and sees that it leaves.
func (f *frames) send(v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	f.buf = sglang.AppendFrame(f.buf[:0], raw)
	return f.raw(f.buf)
}

// done writes the last frame.
func (f *frames) done() error { return f.raw([]byte(sglang.Done)) }

func (f *frames) raw(b []byte) error {
	f.s.soon(f.w)
	if _, err := f.w.Write(b); err != nil {
		return err
	}
	return http.NewResponseController(f.w).Flush()
}

// flow answers a plan frame by frame. What is wrong with it is a frame too: the status was 200 before.
func (s *Server) flow(w http.ResponseWriter, r *http.Request, p *plan, err error) {
	f := s.frames(w)
	if err == nil {
		sent := make([]delta, len(p.specs))
		err = s.each(r.Context(), p.specs, p.every, func(i int, a *answer) error {
			out := s.wire(a, &p.wants[i])
			if s.cfg.Incremental {
				sent[i].cut(&out)
			}
			if p.many {
				out.Index = &i
			}
			return f.send(out)
		})
	}
	if r.Context().Err() != nil {
		return
	}
	if err != nil {
		s.complain(r, err)
		if f.send(sglang.StreamFailed(err.Error(), status(err))) != nil {
			return
		}
	}
	if err := f.done(); err != nil && err != io.ErrClosedPipe { //nolint:errorlint // a wrapped one is as good a reason to be quiet
		s.log.Debug("stream broke off", "error", err.Error())
	}
}

// A delta is how much of a sample was sent.
type delta struct {
	text, tokens int
	prompt       bool // the prompt's part was
}

// cut takes out of a frame what earlier ones had.
func (d *delta) cut(out *sglang.Answer) {
	n := len(out.OutputIDs)
	if out.Text != nil {
		whole := *out.Text
		at := min(d.text, len(whole))
		out.Text = new(whole[at:])
		d.text = len(whole)
	}
	m := &out.Meta
	out.OutputIDs = out.OutputIDs[d.tokens:]
	m.OutputLogProbs = rest(m.OutputLogProbs, d.tokens)
	m.OutputTop = rest(m.OutputTop, d.tokens)
	m.OutputAmong = rest(m.OutputAmong, d.tokens)
	if d.prompt {
		m.InputLogProbs = rest(m.InputLogProbs, len(m.InputLogProbs))
		m.InputTop = rest(m.InputTop, len(m.InputTop))
		m.InputAmong = rest(m.InputAmong, len(m.InputAmong))
	}
	d.tokens, d.prompt = n, true
}

// rest returns a list from place n on; nil stays nil.
func rest[S ~[]E, E any](list S, n int) S {
	if list == nil {
		return nil
	}
	return list[n:]
}
