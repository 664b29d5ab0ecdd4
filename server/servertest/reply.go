package servertest

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
)

// ids are tokens.
type ids = []int

// prompt returns n tokens, the same for the same seed. All are bytes of text where a token is a byte, and none is special anywhere.
func prompt(seed uint64, n int) ids {
	r := rand.New(rand.NewPCG(seed, 15))
	out := make(ids, n)
	for i := range out {
		out[i] = 33 + r.IntN(94)
	}
	return out
}

// greedy are sampling parameters: temperature 0, n tokens.
func greedy(n int, more ...m) m {
	return with(append([]m{{"temperature": 0, "max_new_tokens": n}}, more...)...)
}

// full are sampling parameters under which exactly n tokens come.
func full(n int, more ...m) m {
	return greedy(n, append([]m{{"ignore_eos": true}}, more...)...)
}

// ask is a request with logprobs.
func ask(p any, sampling any, more ...m) m {
	return with(append([]m{{"input_ids": p, "sampling_params": sampling, "return_logprob": true}}, more...)...)
}

// A reply is one generated answer.
type reply struct {
	c   *check
	raw m
}

// generate asks for one answer, which must come.
func (c *check) generate(body m) reply {
	c.Helper()
	return c.post("/generate", body).reply()
}

// generateAll asks for n answers.
func (c *check) generateAll(n int, body m) []reply {
	c.Helper()
	return c.post("/generate", body).replies(n)
}

// reply returns the one answer of a body.
func (a answer) reply() reply {
	a.c.Helper()
	r := reply{a.c, a.must(200).object()}
	r.whole()
	return r
}

// replies returns the n answers of a body.
func (a answer) replies(n int) []reply {
	a.c.Helper()
	l := a.must(200).list()
	if len(l) != n {
		a.c.Fatalf("got %d answers, want %d", len(l), n)
	}
	var out []reply
	for _, v := range l {
		o, ok := v.(m)
		if !ok {
			a.c.Fatalf("answer %d is %v, want an object", len(out), v)
		}
		r := reply{a.c, o}
		r.whole()
		out = append(out, r)
	}
	return out
}

// whole holds what is true of every answer: T26 for each of them.
func (r reply) whole() {
	r.c.Helper()
	n := r.int("completion_tokens")
	if got := len(r.ids()); got != n {
		r.c.Fatalf("completion_tokens is %d, but there are %d output_ids", n, got)
	}
	if l, ok := r.meta()["output_token_logprobs"]; ok {
		if got := len(r.triples("output_token_logprobs")); got != n {
			r.c.Fatalf("completion_tokens is %d, but there are %d output_token_logprobs: %v", n, got, l)
		}
	}
	if _, ok := r.meta()["weight_version"].(string); !ok {
		r.c.Fatalf("weight_version is %v, want a string", r.meta()["weight_version"])
	}
}

// meta returns meta_info.
func (r reply) meta() m {
	r.c.Helper()
	o, ok := r.raw["meta_info"].(m)
	if !ok {
		r.c.Fatalf("meta_info is %v, want an object", r.raw["meta_info"])
	}
	return o
}

// text returns the decoded answer.
func (r reply) text() string {
	r.c.Helper()
	s, ok := r.raw["text"].(string)
	if !ok {
		r.c.Fatalf("text is %v, want a string", r.raw["text"])
	}
	return s
}

// id returns the request's name.
func (r reply) id() string {
	r.c.Helper()
	s, ok := r.meta()["id"].(string)
	if !ok || s == "" {
		r.c.Fatalf("meta_info.id is %v, want a name", r.meta()["id"])
	}
	return s
}

// ids returns the generated tokens.
func (r reply) ids() ids {
	r.c.Helper()
	return r.c.ints(r.raw["output_ids"])
}

// int returns an integer of meta_info.
func (r reply) int(name string) int {
	r.c.Helper()
	return r.c.integer(r.meta()[name], name)
}

// integer returns a JSON integer.
func (c *check) integer(v any, name string) int {
	c.Helper()
	n, _ := v.(json.Number)
	i, err := n.Int64()
	if err != nil {
		c.Fatalf("%s is %v, want an integer", name, v)
	}
	return int(i)
}

// ints returns a JSON array of integers.
func (c *check) ints(v any) ids {
	c.Helper()
	l, ok := v.([]any)
	if !ok {
		c.Fatalf("got %v, want an array of integers", v)
	}
	out := make(ids, 0, len(l))
	for _, x := range l {
		out = append(out, c.integer(x, "an element"))
	}
	return out
}

// finish returns the type and the other members of finish_reason.
func (r reply) finish() (string, m) {
	r.c.Helper()
	o, ok := r.meta()["finish_reason"].(m)
	if !ok {
		r.c.Fatalf("finish_reason is %v, want an object", r.meta()["finish_reason"])
	}
	s, _ := o["type"].(string)
	return s, o
}

// ends fails unless the answer ended as said: "stop" with what matched, "length" with the budget, "abort" with nil.
func (r reply) ends(kind string, by any) {
	r.c.Helper()
	got, o := r.finish()
	seen := map[string]any{"stop": o["matched"], "length": o["length"]}[kind]
	if n, ok := seen.(json.Number); ok {
		i, _ := n.Int64()
		seen = int(i)
	}
	if got != kind || kind != "abort" && by != nil && seen != by {
		r.c.Fatalf("finish_reason is %v, want type %s with %v", o, kind, by)
	}
}

// A triple is one token and its logprob.
type triple struct {
	lp   float64 // NaN for null
	id   int
	text any // a string, or nil
}

// triples returns a list of meta_info. Lists are held to their shape.
func (r reply) triples(name string) []triple {
	r.c.Helper()
	return r.c.triples(r.meta()[name], name)
}

func (c *check) triples(v any, name string) []triple {
	c.Helper()
	l, ok := v.([]any)
	if !ok {
		c.Fatalf("%s is %v, want an array", name, v)
	}
	out := make([]triple, 0, len(l))
	for i, x := range l {
		out = append(out, c.triple(x, fmt.Sprintf("%s[%d]", name, i)))
	}
	return out
}

func (c *check) triple(v any, name string) triple {
	c.Helper()
	l, _ := v.([]any)
	if len(l) != 3 {
		c.Fatalf("%s is %v, want three members", name, v)
	}
	t := triple{math.NaN(), c.integer(l[1], name+"[1]"), l[2]}
	if n, ok := l[0].(json.Number); ok {
		t.lp, _ = n.Float64()
		if t.lp > 1e-6 {
			c.Fatalf("%s has logprob %v, want at most 0", name, t.lp)
		}
	} else if l[0] != nil {
		c.Fatalf("%s[0] is %v, want a number or null", name, l[0])
	}
	if _, ok := l[2].(string); !ok && l[2] != nil {
		c.Fatalf("%s[2] is %v, want text or null", name, l[2])
	}
	return t
}

// nested returns a list of lists of triples; null is nil.
func (r reply) nested(name string) [][]triple {
	r.c.Helper()
	l, ok := r.meta()[name].([]any)
	if !ok {
		r.c.Fatalf("%s is %v, want an array", name, r.meta()[name])
	}
	var out [][]triple
	for i, x := range l {
		if x == nil {
			out = append(out, nil)
			continue
		}
		out = append(out, r.c.triples(x, fmt.Sprintf("%s[%d]", name, i)))
	}
	return out
}

// logprobs returns the generated tokens' logprobs.
func (r reply) logprobs() []float64 {
	r.c.Helper()
	return lps(r.triples("output_token_logprobs"))
}

func lps(ts []triple) (out []float64) {
	for _, t := range ts {
		out = append(out, t.lp)
	}
	return out
}

func tokens(ts []triple) ids {
	out := ids{}
	for _, t := range ts {
		out = append(out, t.id)
	}
	return out
}

// near fails unless logprobs agree: to the bit, or, upstream, as well as batches of other sizes do.
func (c *check) near(what string, got, want []float64) {
	c.Helper()
	if len(got) != len(want) {
		c.Fatalf("%s: got %d logprobs, want %d", what, len(got), len(want))
	}
	tolerance := 0.0
	if c.Upstream {
		tolerance = 1e-3 // bfloat16 in batches of other sizes, without the deterministic mode
	}
	for i := range got {
		if both := math.IsNaN(got[i]) && math.IsNaN(want[i]); !both && !(math.Abs(got[i]-want[i]) <= tolerance) {
			c.Fatalf("%s: logprob %d is %v, want %v within %v", what, i, got[i], want[i], tolerance)
		}
	}
}

// same fails unless two answers have the same text, tokens and logprobs.
func (c *check) same(what string, got, want reply) {
	c.Helper()
	if !slices.Equal(got.ids(), want.ids()) {
		c.Fatalf("%s: output_ids are %v, want %v", what, got.ids(), want.ids())
	}
	if got.text() != want.text() {
		c.Fatalf("%s: text is %.200q, want %.200q", what, got.text(), want.text())
	}
	for _, name := range []string{"output_token_logprobs", "input_token_logprobs"} {
		_, one := got.meta()[name]
		_, two := want.meta()[name]
		if one && two {
			c.near(what+": "+name, lps(got.triples(name)), lps(want.triples(name)))
		}
	}
	g, _ := got.finish()
	w, _ := want.finish()
	if g != w {
		c.Fatalf("%s: ends with %s, want %s", what, g, w)
	}
}

// equal fails unless got is want.
func (c *check) equal(what string, got, want any) {
	c.Helper()
	if !reflect.DeepEqual(got, want) {
		c.Fatalf("%s is %v, want %v", what, got, want)
	}
}
