package servertest

import (
	"strings"
	"time"
)

func memories() []Test {
	return []Test{
		{
			113, "release", "release while busy: 400; idle: null, and memory falls; after resume and update answers are right",
			"400 while busy, where SGLang's process dies; resuming what wasn't released is 200", memory, release,
		},
		{
			114, "update_released", "pause, flush, begin, update, end, continue succeed while attention memory is released",
			"/generate is 503 with Retry-After while anything is released", memory, updateReleased,
		},
	}
}

func (c *check) occupation(what string, tags ...string) answer {
	body := m{}
	if len(tags) > 0 {
		body["tags"] = tags
	}
	return c.post("/"+what+"_memory_occupation", body)
}

// null fails unless the body is JSON null.
func (a answer) null() {
	a.c.Helper()
	if s := strings.TrimSpace(string(a.must(200).body)); s != "null" {
		a.c.Errorf("%v, want null", a)
	}
}

// resident returns the memory of the server's process, or 0.
func (c *check) resident() int64 {
	c.Helper()
	if c.Memory == nil {
		return 0
	}
	n, err := c.Memory()
	if err != nil {
		c.Fatalf("memory of the server: %v", err)
	}
	return n
}

func release(c *check) {
	p := c.pair(c, "bf16")
	before := c.impression()
	busy := c.later("/generate", ask(prompt(113, 10), full(c.long())))
	c.untilRunning(1)
	c.occupation("release").must(400).nested()
	c.abortAll()
	busy.wait(c).reply()
	c.untilIdle()
	c.flush()
	held := c.resident()
	c.occupation("release").null()
	for end := time.Now().Add(10 * time.Second); held > 0 && c.resident() >= held; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			c.Errorf("the process holds %d bytes after release, %d before", c.resident(), held)
			break
		}
	}
	c.get("/health").must(200)
	c.get("/health_generate").must(503)
	if a := c.post("/generate", ask(prompt(113, 10), greedy(1))).must(503); a.header.Get("Retry-After") == "" && !c.Upstream {
		c.Errorf("%v without Retry-After", a)
	}
	c.occupation("resume", "weights").null()
	c.update(p.A, "1")
	c.occupation("resume", "kv_cache", "cuda_graph").null()
	c.like("after resume", c.impression(), before)
	c.occupation("resume").null() // nothing is released
	c.get("/health_generate").must(200)
}

func updateReleased(c *check) {
	p := c.pair(c, "bf16")
	c.streamed()
	c.update(p.A, "2")
	before := c.impression()
	c.flush()
	c.occupation("release", "kv_cache").null()
	c.pause("retract")
	c.get("/flush_cache").must(200)
	c.get("/server_info").must(200)
	c.begin().succeeded()
	c.push(readWeights(c, p.B), "3").succeeded()
	c.end().succeeded()
	c.resume()
	c.get("/health").must(200)
	c.occupation("resume", "kv_cache").null()
	c.labelled("3")
	c.unlike("after the update", c.impression(), before)
	c.update(p.A, "4")
	c.like("after another", c.impression(), before)
}
