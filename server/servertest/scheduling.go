package servertest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

func scheduling() []Test {
	return []Test{
		{55, "running_limit", "four times more requests than may run: all finish, the limit holds", "", running, runningLimit},
		{56, "retraction", "a memory too small for all: samples give way, finish, and are as they were without pressure", "", pool, retraction},
		{57, "chunked_prefill", "a long prompt is computed in chunks, and the others go on", "", chunked, chunkedPrefill},
		{58, "context", "a prompt or budget beyond the context: 400 with both numbers; no budget means until its end", "", plain, contextEnd},
		{
			59, "queue_limit", "beyond max_queued_requests: 503 at once, and later ones succeed", "", queued, queueLimit,
		},
		{60, "disconnect", "a client that leaves ends its sample", "", plain, disconnect},
	}
}

func runningLimit(c *check) {
	limit := c.fact("max_running_requests")
	if limit < 1 || limit > 64 {
		c.Skipf("needs a server with max_running_requests of at most 64, this one has %d", limit)
	}
	n := min(c.context()/2, 400)
	var all []pending
	for i := range 4 * limit {
		all = append(all, c.later("/generate", ask(prompt(uint64(550+i), 20), full(n))))
	}
	most := 0
	for _, a := range all {
		for a.quiet(5 * time.Millisecond) {
			most = max(most, c.load().running, int(c.gauge("sglang:num_running_reqs")))
		}
		a.wait(c).reply().ends("length", n)
	}
	if most > limit || most == 0 {
		c.Errorf("%d requests ran at once, want 1 to %d", most, limit)
	}
	c.untilIdle()
}

func retraction(c *check) {
	const requests, p = 10, 64
	total := c.fact("max_total_num_tokens")
	if total == 0 {
		total = c.fact("max_total_tokens")
	}
	if total < 4*p || total > 20000 {
		c.Skipf("needs a server with max_total_tokens between %d and 20000, this one has %d", 4*p, total)
	}
	n := total/3 - p - 32
	var all []pending
	for i := range requests {
		all = append(all, c.later("/generate", ask(prompt(uint64(560+i), p), full(n))))
	}
	var got []reply
	retracted := 0
	for _, a := range all {
		r := a.wait(c).reply()
		r.ends("length", n)
		retracted += r.int("num_retractions")
		got = append(got, r)
	}
	if retracted == 0 {
		c.Errorf("nothing was retracted, want some of %d requests of %d tokens in a memory for %d", requests, p+n, total)
	}
	for i, r := range got {
		c.same(fmt.Sprintf("answer %d", i), r, c.generate(ask(prompt(uint64(560+i), p), full(n))))
	}
}

// chunkedPrefill counts what two streams say while a long prompt is computed.
func chunkedPrefill(c *check) {
	chunk := c.fact("chunked_prefill_size")
	long := min(c.context()-64, 40*chunk)
	if chunk < 1 || long < 10*chunk {
		c.Skipf("needs a context of ten chunks, this one has %d tokens in chunks of %d", c.context(), chunk)
	}
	var others []*stream
	for i := range 2 {
		others = append(others, c.stream(m{"input_ids": prompt(uint64(570+i), 10), "sampling_params": full(c.long())}))
	}
	for _, s := range others {
		s.next()
	}
	before := []int{others[0].tokens(), others[1].tokens()}
	r := c.generate(ask(prompt(57, long), full(1)))
	if r.int("cached_tokens") > 0 {
		c.Errorf("the prompt was cached")
	}
	for i, s := range others {
		if got := s.tokens() - before[i]; got < long/chunk/2 {
			c.Errorf("stream %d got %d tokens while %d chunks were computed, want about one a chunk", i, got, long/chunk)
		}
		s.close()
	}
	c.untilIdle()
}

func contextEnd(c *check) {
	n := c.context()
	if n > 1<<17 {
		c.Skipf("needs a context of at most 131072 tokens, this one has %d", n)
	}
	c.post("/generate", ask(prompt(58, n), greedy(1))).must(400)
	c.post("/generate", ask(prompt(58, n+10), greedy(1))).must(400)
	s := c.post("/generate", ask(prompt(58, 20), greedy(n))).must(400).message()
	for _, number := range []int{n, n + 20} {
		if !strings.Contains(s, strconv.Itoa(number)) && !(number > n && strings.Contains(s, "20")) {
			c.Errorf("message is %q, want the context and what was asked for in it (%d)", s, number)
		}
	}
	r := c.generate(ask(prompt(58, n-40), m{"temperature": 0, "ignore_eos": true, "max_new_tokens": nil}))
	r.ends("length", nil)
	if got := r.int("completion_tokens"); got < 32 || got > 40 {
		c.Errorf("without budget got %d tokens, want those to the end of the context, 40 at most", got)
	}
}

func queueLimit(c *check) {
	runs, waits := c.fact("max_running_requests"), c.fact("max_queued_requests")
	if waits < 1 || runs+waits > 16 {
		c.Skipf("needs a server with few max_running_requests and max_queued_requests, this one has %d and %d", runs, waits)
	}
	body := func(i int) m { return ask(prompt(uint64(590+i), 10), full(c.long()), m{"rid": fmt.Sprintf("q%d", i)}) }
	var all []pending
	for i := range runs + waits {
		all = append(all, c.later("/generate", body(i)))
		c.until("the request was taken", func(l load) bool { return l.running+l.waiting == i+1 })
	}
	c.untilRunning(runs)
	a := c.post("/generate", body(99)).must(503)
	if s := a.flat(); s == "" {
		c.Errorf("%v, want a message", a)
	}
	frames := c.stream(with(body(98), m{"stream": true})).all()
	c.equal("finish_reason of a stream that found the queue full", frames.last().status(), 503)
	c.post("/abort_request", m{"abort_all": true}).must(200)
	for _, p := range all {
		p.wait(c).reply().ends("abort", nil)
	}
	c.generate(ask(prompt(59, 10), greedy(4)))
}

func disconnect(c *check) {
	for _, streams := range []bool{false, true} {
		ctx, leave := context.WithCancel(context.Background())
		gone := make(chan struct{})
		body := encode(ask(prompt(60, 10), full(c.long()), m{"stream": streams}))
		go func() {
			defer close(gone)
			c.send(ctx, "POST", "/generate", body)
		}()
		c.untilRunning(1)
		leave()
		<-gone
		began := time.Now()
		c.untilIdle()
		if took := time.Since(began); took > 15*time.Second {
			c.Errorf("stream %v: ran on for %v after its client left", streams, took)
		}
	}
}

// longest returns the length of the common beginning of two lists.
func longest(a, b ids) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// prefix fails unless got begins want.
func (c *check) prefix(what string, got, want ids) {
	c.Helper()
	if n := longest(got, want); n < len(got) {
		c.Fatalf("%s: token %d is %d, want %v", what, n, got[n], want[n:min(n+1, len(want))])
	}
}
