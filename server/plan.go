package server

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"furlong/api/sglang"
)

// A plan is what a body of /generate asks for: specs in the order of the answers, prompt by prompt, and what each answer is to tell.
type plan struct {
	specs []spec
	wants []want
	many  bool // the answer is a list
	every int  // tokens between frames, 0 for the server's default
}

// A want says what an answer tells besides text and ids.
type want struct {
	logProbs    bool
	start       int // first prompt position that is told of
	top         int
	among       []int32
	texts       bool
	prompt      bool
	experts     bool
	expertsFrom int
}

// plan checks a body of /generate.
func (s *Server) plan(g *sglang.Generate) (*plan, error) {
	if err := s.unsupported(g); err != nil {
		return nil, err
	}
	prompts, many, err := s.prompts(g)
	if err != nil {
		return nil, err
	}
	params, n, err := s.paramsOf(g, len(prompts))
	if err != nil {
		return nil, err
	}
	rids, err := ridsOf(g, len(prompts), many, n)
	if err != nil {
		return nil, err
	}
	p := &plan{many: many || n > 1}
	if params[0].StreamInterval != nil {
		p.every = *params[0].StreamInterval
	}
	for i, prompt := range prompts {
		sp, w, err := s.spec(g, i, prompt, params[i])
		if err != nil {
			return nil, where(err, i, many)
		}
		for k := range n {
			one := sp
			one.rid, one.index, one.sampling.Seed = rids[i*n+k], k, sp.sampling.Seed+uint64(k)
			p.specs, p.wants = append(p.specs, one), append(p.wants, w)
		}
	}
	return p, p.alternatives()
}

// mostAlternatives is how many alternatives with their logprobs a request may ask for in all: a gigabyte of answer.
const mostAlternatives = 1 << 25

// alternatives holds what all samples of a request together may be told of against what an answer can hold.
func (p *plan) alternatives() error {
	all := 0
	for _, sp := range p.specs {
		each := sp.report.Top + len(sp.report.Among)
		if all += each * (sp.report.Tail + sp.sampling.MaxTokens); all > mostAlternatives {
			return bad("%d samples of up to %d tokens with %d alternatives each are more than %d, want fewer of n, max_new_tokens, top_logprobs_num or token_ids_logprob",
				len(p.specs), sp.report.Tail+sp.sampling.MaxTokens, each, mostAlternatives)
		}
	}
	return nil
}

// where says which prompt of a batch an error is about.
func where(err error, i int, many bool) error {
	if !many {
		return err
	}
	return refusal{status(err), fmt.Sprintf("item %d: %v", i, err)}
}

// prompts returns the ids of all prompts, and whether they came as a list.
func (s *Server) prompts(g *sglang.Generate) (ids [][]int32, many bool, err error) {
	switch {
	case g.Text.IsZero() && g.InputIDs.IsZero():
		return nil, false, bad("neither text nor input_ids is there, want one of them")
	case g.InputIDs.IsZero():
		many = g.Text.Many
		for _, t := range g.Text.Values {
			if s.parts.Tokenizer == nil {
				return nil, false, bad("text is there, want input_ids: the server runs without a tokenizer")
			}
			if most := s.parts.Model.Context * s.longest(); len(t) > most {
				return nil, false, bad("text has %d bytes, want at most %d: no more fit the context length (%d)", len(t), most, s.parts.Model.Context)
			}
			ids = append(ids, s.encode(t, true))
		}
	default:
		ids, many = g.InputIDs.Lists, g.InputIDs.Many
		if !g.Text.IsZero() && (g.Text.Many != many || len(g.Text.Values) != len(ids)) {
			return nil, false, bad("text has %d prompts and input_ids %d, want as many", len(g.Text.Values), len(ids))
		}
	}
	if len(ids) == 0 {
		return nil, false, bad("the batch is empty, want at least 1 prompt")
	}
	return ids, many, nil
}

// encode returns the ids of a text, where special tokens that are spelled out are meant; with begin, the token that begins a text comes first where the
// model wants one.
func (s *Server) encode(text string, begin bool) []int32 {
	ids := s.parts.Tokenizer.EncodeSpecial(text)
	if begin {
		return s.begun(ids)
	}
	return ids
}

// begun puts the token that begins a text before ids, where the model wants one and it is not there.
func (s *Server) begun(ids []int32) []int32 {
	if bos := s.parts.Tokenizer.BOS(); s.parts.Begin && bos >= 0 && (len(ids) == 0 || ids[0] != bos) {
		return slices.Insert(ids, 0, bos)
	}
	return ids
}

// paramsOf returns the sampling parameters of each prompt, and how many samples each gets.
func (s *Server) paramsOf(g *sglang.Generate, prompts int) (out []sglang.Params, n int, err error) {
	if err := lengths(g, prompts); err != nil {
		return nil, 0, err
	}
	for i := range prompts {
		p, err := g.Params.At(i).Over(s.preferred)
		if err != nil {
			return nil, 0, bad("sampling_params: %w", err)
		}
		k := or(p.N, 1)
		if k < 1 {
			return nil, 0, bad("n is %d, want at least 1", k)
		}
		if i > 0 && k != n {
			return nil, 0, bad("sampling_params: n is %d for item 0 and %d for item %d, want the same for all", n, k, i)
		}
		n = k
		out = append(out, p)
	}
	if most := 1 << 16; n > most || n*prompts > most {
		return nil, 0, bad("n is %d for %d prompts, want at most %d samples of one request", n, prompts, most)
	}
	return out, n, nil
}

// or returns what p points to, or a default.
func or[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// lengths holds every list of a body against the number of its prompts.
func lengths(g *sglang.Generate, prompts int) error {
	lists := map[string]int{}
	note := func(name string, many bool, n int) {
		if many {
			lists[name] = n
		}
	}
	note("sampling_params", g.Params.Many, len(g.Params.Values))
	note("return_logprob", g.ReturnLogProb.Many, len(g.ReturnLogProb.Values))
	note("logprob_start_len", g.LogProbStart.Many, len(g.LogProbStart.Values))
	note("top_logprobs_num", g.TopLogProbs.Many, len(g.TopLogProbs.Values))
	note("token_ids_logprob", g.TokenIDsLogProb.Many, len(g.TokenIDsLogProb.Lists))
	note("extra_key", g.ExtraKey.Many, len(g.ExtraKey.Values))
	note("cache_salt", g.CacheSalt.Many, len(g.CacheSalt.Values))
	note("rid", g.RID.Many, len(g.RID.Values))
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		if lists[name] != prompts {
			return bad("%s has %d members, want %d, one for each prompt", name, lists[name], prompts)
		}
	}
	return nil
}

// ridsOf returns the rid of each sample.
func ridsOf(g *sglang.Generate, prompts int, many bool, n int) ([]string, error) {
	out := make([]string, 0, prompts*n)
	seen := map[string]bool{}
	for i := range prompts * n {
		rid, given := g.RID.At(i/n), !g.RID.IsZero()
		switch {
		case !given || rid == "" && !g.RID.Many:
			rid = newRID()
		case rid == "":
			return nil, bad("rid %d is empty, want text", i/n)
		case g.RID.Many && n > 1:
			rid = fmt.Sprintf("%s_%d", rid, i%n)
		case !g.RID.Many && (many || n > 1):
			rid = fmt.Sprintf("%s_%d", rid, i)
		}
		if seen[rid] {
			return nil, bad("rid %q is there twice, want different ones", rid)
		}
		seen[rid] = true
		out = append(out, rid)
	}
	return out, nil
}

// newRID returns a rid that nobody else has.
func newRID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
