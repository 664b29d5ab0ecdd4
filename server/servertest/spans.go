package servertest

import (
	"fmt"
)

func spans() []Test {
	return []Test{
		{111, "spans_retract", "an update behind a pause that retracts: answers have a span for each version, without gaps", "", weights, spansRetract},
		{112, "spans_in_place", "an update behind a pause in place: the same, and nothing is computed again", "", weights, spansInPlace},
	}
}

func spansRetract(c *check) { c.spans("retract") }
func spansInPlace(c *check) { c.spans("in_place") }

// spans updates in the middle of four answers.
func (c *check) spans(mode string) {
	p := c.pair(c, "bf16")
	c.update(p.A, "11")
	g := c.company(1110, min(c.long(), 700))
	g.s.grow(8) // all four have drawn tokens by then
	c.pause(mode)
	if mode == "retract" {
		c.get("/flush_cache").must(200)
	}
	c.update(p.B, "12", m{"flush_cache": false, "abort_all_requests": false})
	c.resume()
	for i, r := range g.finish(false) {
		r.covered(fmt.Sprintf("answer %d", i), "11", "12")
		if again := r.int("num_retractions"); (again > 0) != (mode == "retract") {
			c.Errorf("answer %d counts %d retractions after a pause %s", i, again, mode)
		}
	}
	c.labelled("12")
}

// covered fails unless the spans of an answer are those of versions, in this order, and cover all its tokens.
func (r reply) covered(what string, versions ...string) {
	r.c.Helper()
	l, ok := r.meta()["weight_versions"].([]any)
	if !ok && r.c.Upstream {
		r.c.Skip("needs a server that tells weight_versions")
	}
	at := 0
	var seen []string
	for _, v := range l {
		o, _ := v.(m)
		s, _ := o["version"].(string)
		start, end := r.c.integer(o["start"], "start"), r.c.integer(o["end"], "end")
		if start != at || end <= start {
			r.c.Fatalf("%s: weight_versions is %v, want spans without gaps", what, l)
		}
		at = end
		seen = append(seen, s)
	}
	r.c.equal(what+": versions", seen, versions)
	r.c.equal(what+": tokens in spans", at, r.int("completion_tokens"))
	r.c.equal(what+": weight_version", r.meta()["weight_version"], versions[len(versions)-1])
}
