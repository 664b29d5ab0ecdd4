package servertest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

func streams() []Test {
	return []Test{
		{79, "frames", "frames are data: JSON, the last is [DONE]; each has all of the text so far; the last alone has a finish_reason", "", plain, framesForm},
		{80, "last_frame", "the last chunk is the answer that a request without stream gets", "", plain, lastFrame},
		{81, "bad_parameter", "a bad parameter with stream: 200, one error frame, [DONE]", "", plain, badStream},
		{82, "batch_stream", "chunks of a batch carry index", "", plain, batchStream},
		{83, "characters", "characters that are several tokens are never split", "", plain, characters},
	}
}

// A stream is an answer that comes in chunks. A goroutine reads it.
type stream struct {
	c      *check
	res    *http.Response
	cancel context.CancelFunc

	mu     sync.Mutex
	raw    []string // data of each frame
	faults []string
	ended  chan struct{} // closed when nothing comes any more
	more   chan struct{} // a frame came
}

// stream posts to /generate with stream true and returns when the answer's header has come.
func (c *check) stream(body m) *stream {
	c.Helper()
	return c.streamOf("/generate", body)
}

func (c *check) streamOf(path string, body m) *stream {
	c.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	res, err := c.open(ctx, "POST", path, encode(with(body, m{"stream": true}))) //nolint:bodyclose // closed by stream.close
	if err != nil {
		cancel()
		c.Fatalf("stream: %v", err)
	}
	s := &stream{c: c, res: res, cancel: cancel, ended: make(chan struct{}), more: make(chan struct{}, 1)}
	go s.read()
	c.Cleanup(s.close)
	if res.StatusCode != 200 || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		c.Fatalf("stream: %d with content type %q, want 200 and text/event-stream", res.StatusCode, res.Header.Get("Content-Type"))
	}
	return s
}

// read takes frames until the end.
func (s *stream) read() {
	defer close(s.ended)
	in := bufio.NewReaderSize(s.res.Body, 1<<16)
	for {
		line, err := in.ReadString('\n')
		if line = strings.TrimSuffix(line, "\n"); line != "" {
			s.take(line)
		}
		if err != nil {
			return
		}
	}
}

func (s *stream) take(line string) {
	data, ok := strings.CutPrefix(line, "data: ")
	s.mu.Lock()
	defer s.mu.Unlock()
	if !ok {
		s.faults = append(s.faults, fmt.Sprintf("line %q does not begin with \"data: \"", line))
	}
	s.raw = append(s.raw, data)
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// next waits until there is a frame.
func (s *stream) next() {
	s.c.Helper()
	if s.count() > 0 {
		return
	}
	select {
	case <-s.more:
	case <-s.ended:
	case <-time.After(patience):
		s.c.Fatalf("stream: no frame after %v", patience)
	}
}

// grow waits for n more frames, or for the end.
func (s *stream) grow(n int) {
	s.c.Helper()
	limit := time.After(patience)
	for goal := s.count() + n; s.count() < goal; {
		select {
		case <-s.more:
		case <-s.ended:
			return
		case <-limit:
			s.c.Fatalf("stream: no %d more frames within %v", n, patience)
		}
	}
}

// count returns the number of frames so far.
func (s *stream) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.raw)
}

// tokens returns completion_tokens of the newest chunk, 0 before the first.
func (s *stream) tokens() int {
	s.c.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.raw) - 1; i >= 0; i-- {
		if v, err := decode([]byte(s.raw[i])); err == nil {
			return reply{s.c, v.(m)}.int("completion_tokens")
		}
	}
	return 0
}

// close leaves the stream.
func (s *stream) close() {
	s.cancel()
	s.res.Body.Close()
	<-s.ended
}

// A recording is a stream that has ended: its frames without [DONE].
type recording []frame

// A frame is one chunk.
type frame struct{ reply }

// all reads the stream to its end, which must be [DONE].
func (s *stream) all() recording {
	s.c.Helper()
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.c.Fatalf("stream: no end after %v", patience)
	}
	for _, f := range s.faults {
		s.c.Error(f)
	}
	if len(s.raw) < 2 || s.raw[len(s.raw)-1] != "[DONE]" {
		s.c.Fatalf("stream ends with %.200q, want frames and [DONE]", s.raw)
	}
	var out recording
	for _, raw := range s.raw[:len(s.raw)-1] {
		v, err := decode([]byte(raw))
		o, ok := v.(m)
		if err != nil || !ok {
			s.c.Fatalf("frame is %.200q, want a JSON object: %v", raw, err)
		}
		out = append(out, frame{reply{s.c, o}})
	}
	return out
}

func (r recording) last() frame { return r[len(r)-1] }

// final reports whether the chunk ends its answer.
func (f frame) final() bool {
	f.c.Helper()
	v, ok := f.meta()["finish_reason"]
	if !ok {
		f.c.Errorf("a chunk has no finish_reason, want one or null")
	}
	return v != nil
}

// status returns the status_code of an answer that failed in the stream.
func (f frame) status() int {
	f.c.Helper()
	_, o := f.finish()
	return f.c.integer(o["status_code"], "status_code")
}

// cumulative holds chunks of one answer to what callers rely on.
func (r recording) cumulative(c *check) {
	c.Helper()
	text, n := "", 0
	for i, f := range r {
		if !strings.HasPrefix(f.text(), text) {
			c.Fatalf("text of chunk %d is %q, which does not go on from %q", i, f.text(), text)
		}
		if len(f.ids()) < n {
			c.Fatalf("chunk %d has %d tokens after %d", i, len(f.ids()), n)
		}
		text, n = f.text(), len(f.ids())
		f.whole()
		if f.final() != (i == len(r)-1) {
			c.Errorf("chunk %d of %d has the finish_reason %v", i, len(r), f.meta()["finish_reason"])
		}
	}
}

// A reader that is slow for a moment gets few chunks, so several answers are asked for until one has some.
func framesForm(c *check) {
	most := 0
	for try := 0; try < 10 && most < 3; try++ {
		r := c.stream(ask(prompt(79, 10+try), full(40))).all()
		r.cumulative(c)
		r.last().ends("length", 40)
		most = max(most, len(r))
	}
	if most < 3 {
		c.Errorf("40 tokens came in %d chunks at most, in 10 answers, want several", most)
	}
}

func lastFrame(c *check) {
	for _, how := range []m{full(24), greedy(64, dictated("one. two. three."), m{"stop": "two"})} {
		body := ask(prompt(80, 10), how, m{"logprob_start_len": 4, "top_logprobs_num": 2})
		r := c.stream(body).all()
		r.cumulative(c)
		whole := c.generate(body)
		c.same("the last chunk", r.last().reply, whole)
		c.equal("alternatives", r.last().meta()["output_top_logprobs"], whole.meta()["output_top_logprobs"])
	}
}

func badStream(c *check) {
	for _, bad := range []m{
		ask(prompt(81, 10), greedy(2, m{"top_p": 7})),
		ask(prompt(81, 10), greedy(2), m{"logprob_start_len": 99}),
		{"sampling_params": greedy(2)},
	} {
		r := c.stream(bad).all()
		e, _ := r[0].raw["error"].(m)
		if s, _ := e["message"].(string); len(r) != 1 || s == "" {
			c.Errorf("%v: stream is %v, want one frame with error.message", bad, r)
		} else if !c.Upstream && e["code"] != json.Number("400") {
			c.Errorf("%v: error is %v, want code 400", bad, e)
		}
	}
	c.post("/generate", `{"stream":true,`).must(400).flat()
}

func batchStream(c *check) {
	prompts := []ids{prompt(1, 10), prompt(2, 10)}
	var each [2]recording
	for _, f := range c.stream(ask(prompts, full(12))).all() {
		i := c.integer(f.raw["index"], "index")
		if i < 0 || i > 1 {
			c.Fatalf("index is %d, want 0 or 1", i)
		}
		each[i] = append(each[i], f)
	}
	for i, r := range each {
		if len(r) == 0 {
			c.Fatalf("no chunk has index %d", i)
		}
		r.cumulative(c)
		c.same(fmt.Sprintf("answer %d", i), r.last().reply, c.generate(ask(prompts[i], full(12))))
	}
}

func characters(c *check) {
	const text = "é語😀 ñ漢字 👩‍🚀 ok"
	r := c.stream(ask(prompt(83, 10), greedy(200, dictated(text)))).all()
	r.cumulative(c)
	c.equal("text", r.last().text(), text)
	for i, f := range r {
		if strings.Contains(f.text(), "\ufffd") {
			c.Errorf("chunk %d is %q, with a split character", i, f.text())
		}
	}
	cut := c.stream(ask(prompt(83, 10), greedy(2, dictated("語語")))).all() // ends inside a character where tokens are bytes
	for _, f := range cut[:len(cut)-1] {
		if strings.Contains(f.text(), "\ufffd") {
			c.Errorf("chunk is %q before the end, with a split character", f.text())
		}
	}
}
