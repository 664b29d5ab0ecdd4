package servertest

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
)

func routing() []Test {
	return []Test{
		{115, "experts", "return_routed_experts: little-endian int32 of [prompt+answer-1, layers, choices], cached rows too", "no row for the last token", experts, routedExperts},
		{116, "experts_start", "routed_experts_start_len s: exactly the rows from s on; s beyond the prompt: 400", "", experts, routedFrom},
	}
}

// routed returns the choices of experts of an answer.
func (r reply) routed() []int32 {
	r.c.Helper()
	s, ok := r.meta()["routed_experts"].(string)
	if !ok {
		r.c.Fatalf("routed_experts is %v, want base64", r.meta()["routed_experts"])
	}
	raw, err := base64.StdEncoding.DecodeString(s)
	if err != nil || len(raw)%4 != 0 {
		r.c.Fatalf("routed_experts has %d bytes: %v", len(raw), err)
	}
	var out []int32
	for i := 0; i < len(raw); i += 4 {
		out = append(out, int32(binary.LittleEndian.Uint32(raw[i:])))
	}
	return out
}

// mixture returns the numbers of one row, where the model is one of experts.
func (c *check) mixture() int {
	c.Helper()
	if c.facts.Experts == 0 || c.facts.Choices == 0 {
		c.Skip("needs the folder of a model with experts")
	}
	return c.facts.Layers * c.facts.Choices
}

func routedExperts(c *check) {
	row, p := c.mixture(), prompt(115, 100)
	want := m{"return_routed_experts": true}
	c.flush()
	cold := c.generate(ask(p, full(30), want))
	rows := cold.routed()
	c.equal("numbers", len(rows), (len(p)+30-1)*row)
	for i, id := range rows {
		if id < 0 || int(id) >= c.facts.Experts {
			c.Fatalf("number %d is %d, want an expert of %d", i, id, c.facts.Experts)
		}
	}
	warm := c.generate(ask(p, full(30), want))
	if warm.int("cached_tokens") == 0 {
		c.Errorf("the second request found nothing cached")
	}
	c.equal("rows over the cache", slices.Equal(warm.routed(), rows), true)
	stop := c.generate(ask(p, greedy(30, m{"stop_token_ids": ids{cold.ids()[5]}}), want))
	c.equal("numbers after a stop", len(stop.routed()), (len(p)+stop.int("completion_tokens")-1)*row)
	if v, ok := c.generate(ask(p, full(2))).meta()["routed_experts"]; ok && v != nil {
		c.Errorf("routed_experts is %v though nobody asked", v)
	}
}

func routedFrom(c *check) {
	row, p := c.mixture(), prompt(116, 60)
	get := func(p ids, n, start int) answer {
		return c.post("/generate", ask(p, full(n), m{"return_routed_experts": true, "routed_experts_start_len": start}))
	}
	all := get(p, 10, 0).reply()
	for _, s := range []int{1, 17, 59, 60} {
		c.equal(fmt.Sprintf("rows from %d", s), slices.Equal(get(p, 10, s).reply().routed(), all.routed()[s*row:]), true)
	}
	get(p, 10, 61).must(400)
	get(p, 10, -1).must(400)
	c.equal("rows where none are left", get(p, 1, 60).reply().meta()["routed_experts"], "")
	next := slices.Concat(p, all.ids(), prompt(1160, 12)) // two turns end to end are one capture
	second := get(next, 5, 69).reply()
	whole := get(next, 5, 0).reply()
	c.equal("two turns end to end", slices.Equal(slices.Concat(all.routed(), second.routed()), whole.routed()), true)
}
