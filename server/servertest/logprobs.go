package servertest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

func sampling() []Test {
	return []Test{
		{
			48, "temperature", "the logprob of a drawn token is that of the distribution at its temperature", "", plain, tempered,
		},
		{49, "sum", "probabilities over the whole vocabulary sum to 1", "", plain, sumToOne},
	}
}

func logprobs() []Test {
	return []Test{
		{38, "none", "without return_logprob there are no logprob lists", "", plain, noLogprobs},
		{39, "outputs_only", "without logprob_start_len prompts are not scored", "", plain, outputsOnly},
		{40, "from_start", "logprob_start_len 0 scores the prompt, its first token with null", "", plain, fromStart},
		{41, "tail", "logprob_start_len p-3 scores the last three, the first of them with null", "", plain, lastThree},
		{42, "start_too_large", "logprob_start_len p+1: 400", "", plain, startTooLarge},
		{
			43, "rescore", "scoring an answer gives the logprobs with which it was drawn, at temperature 0",
			"the same bits, where SGLang promises them in deterministic mode alone; completion_tokens is 0", plain, rescore,
		},
		{44, "rescore_warm", "scoring again over a warm cache changes nothing", "", plain, rescoreWarm},
		{45, "rescore_batch", "four sequences scored in one call are as in four calls", "", plain, rescoreBatch},
		{46, "top", "top_logprobs_num 5: five alternatives, likeliest first", "", plain, topFive},
		{47, "among", "token_ids_logprob tells the logprobs of chosen ids; an id outside the vocabulary: 400", "", plain, among},
	}
}

func noLogprobs(c *check) {
	r := c.generate(m{"input_ids": prompt(38, 10), "sampling_params": greedy(3)})
	for _, where := range []string{"input", "output"} {
		for _, what := range []string{"token_logprobs", "top_logprobs", "token_ids_logprobs"} {
			if v, ok := r.meta()[where+"_"+what]; ok && v != nil {
				c.Errorf("%s_%s is %v though nobody asked", where, what, v)
			}
		}
	}
}

func outputsOnly(c *check) {
	r := c.generate(ask(prompt(39, 10), full(3)))
	c.equal("input_token_logprobs", r.meta()["input_token_logprobs"], []any{})
	c.equal("output_token_logprobs_length", r.int("output_token_logprobs_length"), 3)
}

func fromStart(c *check) {
	p := prompt(40, 33)
	ts := c.generate(ask(p, greedy(2), m{"logprob_start_len": 0})).triples("input_token_logprobs")
	c.equal("ids", tokens(ts), p)
	c.nullFirst(ts)
}

// nullFirst holds a list of the prompt to its form: null, then numbers.
func (c *check) nullFirst(ts []triple) {
	c.Helper()
	for i, t := range ts {
		if null := math.IsNaN(t.lp); null != (i == 0) {
			c.Errorf("logprob %d is null: %v, want that of the first alone", i, null)
		}
	}
}

func lastThree(c *check) {
	p := prompt(41, 33)
	ts := c.generate(ask(p, greedy(2), m{"logprob_start_len": len(p) - 3})).triples("input_token_logprobs")
	c.equal("ids", tokens(ts), p[len(p)-3:])
	c.nullFirst(ts)
	whole := c.generate(ask(p, greedy(2), m{"logprob_start_len": 0})).triples("input_token_logprobs")
	c.near("the last two", lps(ts)[1:], lps(whole)[len(p)-2:])
	none := c.generate(ask(p, greedy(2), m{"logprob_start_len": len(p)})).meta()
	c.equal("input_token_logprobs from the end", none["input_token_logprobs"], []any{})
}

func startTooLarge(c *check) {
	c.post("/generate", ask(prompt(42, 10), greedy(2), m{"logprob_start_len": 11})).must(400)
}

// score asks for the logprobs of p from start on.
func score(p any, start int, more ...m) m {
	zero := m{"max_new_tokens": 0, "temperature": 0, "skip_special_tokens": false}
	return ask(p, zero, append([]m{{"logprob_start_len": start}}, more...)...)
}

func rescore(c *check) {
	p := prompt(43, 40)
	drawn := c.generate(ask(p, full(30)))
	c.flush()
	r := c.generate(score(slices.Concat(p, drawn.ids()), len(p)-1))
	ts := r.triples("input_token_logprobs")
	c.nullFirst(ts)
	c.equal("ids", tokens(ts[1:]), drawn.ids())
	c.near("the answer scored", lps(ts)[1:], drawn.logprobs())
	if !c.Upstream {
		c.equal("completion_tokens", r.int("completion_tokens"), 0)
		c.equal("text", r.text(), "")
		r.ends("length", 0)
	}
}

func rescoreWarm(c *check) {
	p := prompt(44, 70)
	c.flush()
	cold := c.generate(score(p, 35))
	c.generate(ask(p, greedy(1))) // all of the prompt is known now
	c.near("warm", lps(c.generate(score(p, 35)).triples("input_token_logprobs")), lps(cold.triples("input_token_logprobs")))
	c.near("from the start", lps(c.generate(score(p, 0)).triples("input_token_logprobs"))[36:], lps(cold.triples("input_token_logprobs"))[1:])
}

func rescoreBatch(c *check) {
	var prompts []ids
	for i := range 4 {
		prompts = append(prompts, prompt(uint64(450+i), 20+7*i))
	}
	for i, r := range c.generateAll(4, score(prompts, 10)) {
		one := c.generate(score(prompts[i], 10)).triples("input_token_logprobs")
		got := r.triples("input_token_logprobs")
		c.equal(fmt.Sprintf("ids of sequence %d", i), tokens(got), prompts[i][10:])
		c.near(fmt.Sprintf("sequence %d", i), lps(got), lps(one))
	}
}

func topFive(c *check) {
	p := prompt(46, 12)
	r := c.generate(ask(p, full(4), m{"top_logprobs_num": 5, "logprob_start_len": 0}))
	out, chosen := r.nested("output_top_logprobs"), r.triples("output_token_logprobs")
	c.equal("number of positions", len(out), 4)
	for i, top := range out {
		c.descending(top, 5)
		c.equal(fmt.Sprintf("the likeliest token at %d", i), top[0].lp, chosen[i].lp)
	}
	in := r.nested("input_top_logprobs")
	c.equal("number of positions of the prompt", len(in), len(p))
	for i, top := range in {
		if i == 0 && top != nil {
			c.Errorf("the first position has alternatives %v, want null", top)
		}
		if i > 0 {
			c.descending(top, 5)
		}
	}
}

// descending holds a list of alternatives to its order.
func (c *check) descending(top []triple, n int) {
	c.Helper()
	c.equal("number of alternatives", len(top), n)
	if !slices.IsSortedFunc(top, func(a, b triple) int { return cmp.Compare(b.lp, a.lp) }) {
		c.Errorf("alternatives %v are not in descending order", lps(top))
	}
}

func among(c *check) {
	p := prompt(47, 12)
	r := c.generate(ask(p, full(4), m{"token_ids_logprob": ids{7, 9}, "logprob_start_len": 0}))
	for i, ts := range r.nested("output_token_ids_logprobs") {
		got := tokens(ts)
		slices.Sort(got)
		c.equal(fmt.Sprintf("ids at %d", i), got, ids{7, 9})
	}
	in := r.nested("input_token_ids_logprobs")
	if len(in) != len(p) || in[0] != nil {
		c.Errorf("input_token_ids_logprobs has %d entries, the first %v, want %d and null", len(in), in[0], len(p))
	}
	drawn := r.ids()[0]
	r = c.generate(ask(p, full(1), m{"token_ids_logprob": ids{drawn}}))
	c.near("the drawn token", lps(r.nested("output_token_ids_logprobs")[0]), r.logprobs())
	outside := max(c.facts.Vocab, 100_000_000)
	if c.facts.Vocab > 0 {
		outside = c.facts.Vocab
	}
	c.post("/generate", ask(p, greedy(1), m{"token_ids_logprob": ids{outside}})).must(400)
}

// tempered computes from the whole distribution at temperature 1 what it is at 0.5.
func tempered(c *check) {
	p, n := prompt(48, 20), c.vocabulary()
	if n > 4096 {
		c.Skipf("needs the whole distribution, and this one has %d tokens", n)
	}
	r := c.generate(ask(p, m{"temperature": 0.5, "max_new_tokens": 6, "ignore_eos": true, "sampling_seed": 4}))
	for i, t := range r.triples("output_token_logprobs") {
		all := c.generate(ask(slices.Concat(p, r.ids()[:i]), full(1), m{"top_logprobs_num": n})).nested("output_top_logprobs")[0]
		var sum, chosen float64
		for _, a := range all {
			sum += math.Exp(a.lp / 0.5)
			if a.id == t.id {
				chosen = a.lp
			}
		}
		want := chosen/0.5 - math.Log(sum)
		if math.Abs(t.lp-want) > 1e-4*math.Max(1, math.Abs(want)) { // float32 logits, in another order of sums
			c.Errorf("token %d has logprob %v, want %v at temperature 0.5 (%v at 1)", i, t.lp, want, chosen)
		}
	}
}

func sumToOne(c *check) {
	n := c.vocabulary()
	if n > 4096 {
		c.Skipf("needs the whole distribution, and this one has %d tokens", n)
	}
	r := c.generate(ask(prompt(49, 20), full(3), m{"top_logprobs_num": n, "logprob_start_len": 15}))
	for _, all := range slices.Concat(r.nested("output_top_logprobs"), r.nested("input_top_logprobs")[1:]) {
		var sum float64
		for _, a := range all {
			sum += math.Exp(a.lp)
		}
		if len(all) != n || math.Abs(sum-1) > 1e-3 {
			c.Errorf("%d probabilities sum to %v, want %d and 1", len(all), sum, n)
		}
	}
}
