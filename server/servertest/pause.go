package servertest

import (
	"fmt"
	"strings"
	"time"
)

func pauses() []Test {
	return []Test{
		{67, "pause_modes", "an unknown mode: 400; none given: all are aborted", "", plain, pauseModes},
		{
			68, "retract", "pause retract: nothing goes on, a flush works, and after continue all is as if nothing had been",
			"a flush succeeds while requests wait, as in the branch of SGLang that trainers use", plain, retract,
		},
		{69, "in_place", "pause in place: a flush is refused, and after continue nothing was computed again", "", plain, inPlace},
		{70, "held", "a request posted while paused waits, and completes after continue", "", plain, held},
		{71, "twice", "pausing twice and continuing twice: 200", "no-ops, where SGLang says nothing", plain, pauseTwice},
		{72, "flush", "an idle flush: 200 and text, by GET and POST; with a request running: 400", "", plain, flushRules},
		{
			73, "health_while_paused", "/health is 200 while paused, /server_info answers at once",
			"/health is the heartbeat of the loop, so a pause isn't a failure; SGLang's probe may time out", plain, pausedHealth,
		},
	}
}

func (c *check) pause(mode string) {
	c.Helper()
	o := c.post("/pause_generation", m{"mode": mode}).must(200).object()
	c.equal("status", o["status"], "ok")
}

func (c *check) resume() {
	c.Helper()
	o := c.post("/continue_generation", m{}).must(200).object()
	c.equal("status", o["status"], "ok")
}

func pauseModes(c *check) {
	c.post("/pause_generation", m{"mode": "bogus"}).must(400)
	c.generate(ask(prompt(67, 10), greedy(2))) // not paused
	p := c.later("/generate", ask(prompt(67, 10), full(c.long())))
	c.untilRunning(1)
	c.post("/pause_generation", m{}).must(200)
	p.wait(c).reply().ends("abort", nil)
	c.get("/flush_cache").must(200)
	c.post("/continue_generation", m{"torch_empty_cache": false}).must(200)
	c.generate(ask(prompt(67, 10), greedy(2)))
}

// company is a stream and three requests, all of n tokens, begun at once.
type company struct {
	c    *check
	seed uint64
	n    int
	s    *stream
	rest []pending
}

// company returns when all run and the stream has told a token.
func (c *check) company(seed uint64, n int) *company {
	c.Helper()
	g := &company{c: c, seed: seed, n: n}
	g.s = c.stream(g.body(0))
	for i := range 3 {
		g.rest = append(g.rest, c.later("/generate", g.body(i+1)))
	}
	c.untilRunning(4)
	g.s.next()
	return g
}

func (g *company) body(i int) m { return ask(prompt(g.seed+uint64(i), 24), full(g.n)) }

// finish returns all four answers, each with all its tokens, and compares them with those of an engine that was left alone.
func (g *company) finish(alone bool) (out []reply) {
	g.c.Helper()
	out = append(out, g.s.all().last().reply)
	for _, p := range g.rest {
		out = append(out, p.wait(g.c).reply())
	}
	for i, r := range out {
		r.ends("length", g.n)
		if alone {
			g.c.same(fmt.Sprintf("answer %d", i), r, g.c.generate(g.body(i)))
		}
	}
	return out
}

// still fails unless the stream's tokens stay as they are for d.
func (g *company) still(d time.Duration) {
	g.c.Helper()
	time.Sleep(200 * time.Millisecond) // what was on its way
	n := g.s.count()
	time.Sleep(d)
	if now := g.s.count(); now != n {
		g.c.Errorf("%d chunks came while paused", now-n)
	}
	select {
	case <-g.s.ended:
		g.c.Fatalf("the stream ended while paused")
	default:
	}
}

func retract(c *check) {
	g := c.company(680, min(c.long(), 700))
	began := time.Now()
	c.pause("retract")
	if took := time.Since(began); took > 10*time.Second {
		c.Errorf("the pause took %v, want it at once", took) // that it waits for no answer is seen below
	}
	g.still(1800 * time.Millisecond)
	c.get("/flush_cache").must(200)
	c.resume()
	again := 0
	for _, r := range g.finish(true) {
		again += r.int("num_retractions")
	}
	if again == 0 {
		c.Errorf("no answer counts a retraction, want those that were in flight")
	}
}

func inPlace(c *check) {
	g := c.company(690, min(c.long(), 700))
	c.pause("in_place")
	g.still(300 * time.Millisecond)
	if a := c.get("/flush_cache").must(400); len(a.body) == 0 {
		c.Errorf("%v, want a reason", a)
	}
	c.resume()
	for i, r := range g.finish(true) {
		c.equal(fmt.Sprintf("num_retractions of answer %d", i), r.int("num_retractions"), 0)
	}
}

func held(c *check) {
	for _, mode := range []string{"abort", "retract", "in_place"} {
		c.pause(mode)
		p := c.later("/generate", ask(prompt(70, 10), full(6)))
		if !p.quiet(300 * time.Millisecond) {
			c.Fatalf("%s: %v came while paused", mode, p.wait(c))
		}
		c.resume()
		p.wait(c).reply().ends("length", 6)
	}
	c.pause("retract") // an abort reaches what waits behind a pause
	p := c.later("/generate", ask(prompt(70, 10), full(6), m{"rid": "held"}))
	if p.quiet(100*time.Millisecond) && !c.Upstream {
		c.post("/abort_request", m{"rid": "held"}).must(200)
		p.wait(c).reply().ends("abort", nil)
	}
	c.resume()
}

func pauseTwice(c *check) {
	c.pause("retract")
	c.pause("retract")
	c.resume()
	c.resume()
	c.generate(ask(prompt(71, 10), greedy(2)))
}

func flushRules(c *check) {
	c.untilIdle()
	for _, a := range []answer{c.get("/flush_cache"), c.post("/flush_cache", m{}), c.post("/flush_cache", nil), c.get("/flush_cache?timeout=1")} {
		if a.must(200); !strings.HasPrefix(a.header.Get("Content-Type"), "text/plain") {
			c.Errorf("%s: content type is %q, want text/plain", a.what, a.header.Get("Content-Type"))
		}
	}
	p := c.later("/generate", ask(prompt(72, 10), full(c.long())))
	c.untilRunning(1)
	c.get("/flush_cache").must(400)
	c.abortAll()
	p.wait(c).reply().ends("abort", nil)
}

func pausedHealth(c *check) {
	g := c.company(730, min(c.long(), 700))
	for _, mode := range []string{"in_place", "retract"} {
		c.pause(mode)
		c.get("/health").must(200)
		for _, path := range []string{"/server_info", "/model_info", "/v1/loads?include=core"} {
			if a := c.get(path).must(200); a.took > 10*time.Second {
				c.Errorf("%s took %v while paused, want it at once", path, a.took)
			}
		}
		c.resume()
	}
	g.finish(false)
}
