package servertest

import (
	"fmt"
)

func aborts() []Test {
	return []Test{
		{61, "abort_unknown", "aborting a rid that nobody has: 200 with an empty body", "", plain, abortUnknown},
		{62, "abort_all", "abort_all with three running and three queued: six answers with 200, type abort", "", running, abortAll},
		{63, "abort_keeps", "what an aborted answer has is a beginning of the whole one, logprobs included", "", plain, abortKeeps},
		{
			64, "abort_parent", "aborting a batch's rid aborts its children and nobody else",
			"a prompt's n samples are named rid_0, rid_1 too, so that they can be aborted; SGLang gives them names of its own", plain, abortParent,
		},
		{65, "abort_prefix", "prefix true aborts every rid that begins so", "served without the branch of SGLang that has it", plain, abortPrefix},
		{66, "after_abort", "a request sent after abort_all is not touched by it", "", plain, afterAbort},
	}
}

func (c *check) abortAll() { c.post("/abort_request", m{"abort_all": true}).must(200) }

func abortUnknown(c *check) {
	for _, body := range []m{{"rid": "nope"}, {}, {"rid": "", "abort_all": false}, {"rid": "nope", "prefix": true}} {
		a := c.post("/abort_request", body).must(200)
		c.equal(fmt.Sprintf("body after %v", body), string(a.body), "")
	}
}

func abortAll(c *check) {
	if limit := c.fact("max_running_requests"); limit != 3 {
		c.Skipf("needs a server with max_running_requests 3, this one has %d", limit)
	}
	var all []pending
	first := c.stream(ask(prompt(620, 10), full(c.long())))
	c.untilRunning(1)
	for i := 1; i < 6; i++ {
		all = append(all, c.later("/generate", ask(prompt(uint64(620+i), 10), full(c.long()))))
		c.until("the request was taken", func(l load) bool { return l.running+l.waiting == i+1 })
	}
	c.until("three run and three wait", func(l load) bool { return l == load{3, 3} })
	first.grow(8) // a few tokens of each of the three
	c.abortAll()
	answers := []reply{first.all().last().reply}
	for _, p := range all {
		answers = append(answers, p.wait(c).reply())
	}
	with, without := 0, 0
	for _, r := range answers {
		r.ends("abort", nil)
		if r.int("completion_tokens") > 0 {
			with++
		} else if without++; r.text() != "" {
			c.Errorf("text of an answer without tokens is %q", r.text())
		}
	}
	c.equal("answers with tokens", with, 3)
	c.equal("answers without", without, 3)
	c.untilIdle()
}

func abortKeeps(c *check) {
	n := min(c.long(), 3000)
	whole := c.generate(ask(prompt(63, 10), full(n)))
	s := c.stream(ask(prompt(63, 10), full(n), m{"rid": "keeps"}))
	s.next()
	c.post("/abort_request", m{"rid": "keeps"}).must(200)
	r := s.all().last().reply
	r.ends("abort", nil)
	got := r.int("completion_tokens")
	if got == 0 || got == n {
		c.Errorf("aborted with %d tokens, want some of %d", got, n)
	}
	c.prefix("output_ids", r.ids(), whole.ids())
	c.near("logprobs", r.logprobs(), whole.logprobs()[:got])
}

func abortParent(c *check) {
	prompts := []ids{prompt(641, 10), prompt(642, 10)}
	b := c.later("/generate", ask(prompts, full(c.long()), m{"rid": "b"}))
	other := c.later("/generate", ask(prompt(643, 10), full(c.long()), m{"rid": "c"}))
	longer := c.later("/generate", ask(prompt(644, 10), full(c.long()), m{"rid": "bb"}))
	four := c.later("/generate", ask(prompt(645, 10), m{"n": 2, "max_new_tokens": c.long(), "ignore_eos": true}, m{"rid": "many"}))
	c.untilRunning(6)
	c.post("/abort_request", m{"rid": "b"}).must(200)
	for _, r := range b.wait(c).replies(2) {
		r.ends("abort", nil)
	}
	if !c.Upstream {
		c.post("/abort_request", m{"rid": "many"}).must(200)
		for _, r := range four.wait(c).replies(2) {
			r.ends("abort", nil)
		}
	}
	if !other.quiet(0) || !longer.quiet(0) {
		c.Errorf("requests with other rids ended too")
	}
	c.abortAll()
	other.wait(c).reply().ends("abort", nil)
	longer.wait(c).reply().ends("abort", nil)
	c.untilIdle()
}

func abortPrefix(c *check) {
	if c.Upstream {
		c.Skip("needs a server that knows prefix")
	}
	start := func(rid string, seed uint64) pending {
		return c.later("/generate", ask(prompt(seed, 10), full(c.long()), m{"rid": rid}))
	}
	all := []pending{start("ad1|x", 651), start("ad1|y", 652), start("ad12|x", 653), start("ad2|x", 654)}
	c.untilRunning(4)
	c.post("/abort_request", m{"rid": "ad1|", "prefix": true}).must(200)
	for _, p := range all[:2] {
		p.wait(c).reply().ends("abort", nil)
	}
	for _, p := range all[2:] {
		if !p.quiet(0) {
			c.Errorf("a request with another prefix ended too")
		}
	}
	c.abortAll()
	for _, p := range all[2:] {
		p.wait(c).reply().ends("abort", nil)
	}
	c.untilIdle()
}

func afterAbort(c *check) {
	p := c.later("/generate", ask(prompt(66, 10), full(c.long())))
	c.untilRunning(1)
	c.abortAll()
	c.generate(ask(prompt(661, 10), full(20))).ends("length", 20)
	p.wait(c).reply().ends("abort", nil)
}
