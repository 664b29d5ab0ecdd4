package server

import (
	"bytes"
	"math"
	"regexp"
	"slices"
	"strconv"

	"furlong/api/sglang"
	"furlong/rl"
)

// defaultNewTokens is how long responses may be that say nothing of it, where the context has room for as many.
const defaultNewTokens = 128

// unsupported refuses what other servers can do and this one can't.
func (s *Server) unsupported(g *sglang.Generate) error {
	for _, f := range []struct {
		name string
		raw  []byte
		why  string
	}{
		{"input_embeds", g.InputEmbeds, "prompts are text or ids here"},
		{"image_data", g.ImageData, "the model reads text only"},
		{"video_data", g.VideoData, "the model reads text only"},
		{"audio_data", g.AudioData, "the model reads text only"},
		{"custom_logit_processor", g.Processor, "no code is taken from requests"},
		{"session_params", g.SessionParams, "there are no sessions; prompts that begin alike share their state by themselves"},
	} {
		if len(f.raw) > 0 && !slices.Contains([]string{"[]", "{}", `""`}, string(bytes.TrimSpace(f.raw))) {
			return bad("%s is there, want none: %s", f.name, f.why)
		}
	}
	for _, lora := range g.LoraPath.Values {
		if lora != nil && *lora != "" {
			return bad("lora_path is %q, want none: there are no adapters", *lora)
		}
	}
	if v := g.ReturnHiddenStates; v != nil && v != false {
		return bad("return_hidden_states is %v, want false: they are not kept", v)
	}
	if g.ReturnIndexerTopK || g.ReturnSamplingMask || g.TokenIDsLogProbPosition != nil {
		return bad("return_indexer_topk, return_sampling_mask and token_ids_logprob_positions are not supported, want none of them")
	}
	if g.ReturnRoutedExperts && !s.parts.Model.Experts {
		return bad("return_routed_experts is true, want a server started with --enable-return-routed-experts")
	}
	if rank := or(g.Rank, or(g.OldRank, 0)); rank != 0 {
		return bad("routed_dp_rank is %d, want 0: there is one rank", rank)
	}
	return nil
}

// spec checks one prompt with its parameters. The result lacks rid, index and the seed's place.
func (s *Server) spec(g *sglang.Generate, i int, prompt []int32, p sglang.Params) (spec, want, error) {
	sp := spec{prompt: prompt, quiet: !or(g.LogMetrics, true)}
	if err := s.fits(prompt, p.MaxNewTokens, &sp); err != nil {
		return sp, want{}, err
	}
	if err := s.sampling(p, &sp); err != nil {
		return sp, want{}, err
	}
	if err := begins(g, p, &sp); err != nil {
		return sp, want{}, err
	}
	w, err := s.wanted(g, i, &sp)
	if err != nil {
		return sp, want{}, err
	}
	if key, salt := g.ExtraKey.At(i), g.CacheSalt.At(i); key != "" || salt != "" {
		sp.space = strconv.Quote(key) + strconv.Quote(salt)
	}
	return sp, w, nil
}

// fits holds a prompt and its budget against the vocabulary, the context, and memory. A budget beyond memory is cut.
func (s *Server) fits(prompt []int32, limit sglang.Limit, sp *spec) error {
	n, context := len(prompt), s.parts.Model.Context
	if n == 0 {
		return bad("the prompt has no tokens, want at least 1")
	}
	if i := slices.IndexFunc(prompt, func(t int32) bool { return t < 0 || int(t) >= s.parts.Model.Vocab }); i >= 0 {
		return bad("input_ids: token %d of the prompt is %d, want 0 to %d", i, prompt[i], s.parts.Model.Vocab-1)
	}
	if n >= context {
		return bad("the prompt has %d tokens, want fewer than the context length (%d)", n, context)
	}
	budget := context - n
	switch {
	case limit.Given && limit.N < 0:
		return bad("max_new_tokens is %d, want 0 or more", limit.N)
	case limit.Given && limit.N > budget:
		return bad("the prompt has %d tokens and max_new_tokens is %d, together %d, want at most the context length (%d)", n, limit.N, n+limit.N, context)
	case limit.Given:
		budget = limit.N
	case !limit.None:
		budget = min(budget, defaultNewTokens)
	}
	st := s.engine.Stats()
	if room := st.Lasting.Total * st.PageTokens; room > 0 {
		if n > room {
			return bad("the prompt has %d tokens, want at most the %d that memory holds (--max-total-tokens)", n, room)
		}
		budget = min(budget, room-n+1) // the last token's state is never computed
	}
	sp.sampling.MaxTokens = budget
	return nil
}

// sampling checks parameters and turns them into what the engine knows.
func (s *Server) sampling(p sglang.Params, sp *spec) error {
	if err := ranges(p); err != nil {
		return err
	}
	q := &sp.sampling
	q.Temperature, q.TopP, q.MinP = or(p.Temperature, 1), or(p.TopP, 1), or(p.MinP, 0)
	if q.Temperature < 1e-6 {
		q.Temperature = 0
	}
	q.TopK = max(0, or(p.TopK, -1))
	q.RepetitionPenalty, q.FrequencyPenalty, q.PresencePenalty = or(p.RepetitionPenalty, 1), or(p.FrequencyPenalty, 0), or(p.PresencePenalty, 0)
	if q.RepetitionPenalty == 1 {
		q.RepetitionPenalty = 0
	}
	q.Seed = s.seed(p.SamplingSeed)
	if err := s.ends(p, sp); err != nil {
		return err
	}
	var err error
	if q.Bias, err = s.bias(p.LogitBias); err != nil {
		return err
	}
	return s.grammar(p, sp)
}

// ranges holds each parameter against what it may be.
func ranges(p sglang.Params) error {
	for _, f := range []struct {
		name  string
		value float64
		ok    func(v float64) bool
		want  string
	}{
		{"temperature", or(p.Temperature, 1), func(v float64) bool { return v >= 0 }, "0 or more"},
		{"top_p", or(p.TopP, 1), func(v float64) bool { return v > 0 && v <= 1 }, "more than 0, at most 1"},
		{"top_k", float64(or(p.TopK, -1)), func(v float64) bool { return v == -1 || v >= 1 }, "-1 (all) or at least 1"},
		{"min_p", or(p.MinP, 0), func(v float64) bool { return v >= 0 && v <= 1 }, "0 to 1"},
		{"frequency_penalty", or(p.FrequencyPenalty, 0), func(v float64) bool { return v >= -2 && v <= 2 }, "-2 to 2"},
		{"presence_penalty", or(p.PresencePenalty, 0), func(v float64) bool { return v >= -2 && v <= 2 }, "-2 to 2"},
		{"repetition_penalty", or(p.RepetitionPenalty, 1), func(v float64) bool { return v > 0 && v <= 2 }, "more than 0, at most 2"},
		{"stream_interval", float64(or(p.StreamInterval, 1)), func(v float64) bool { return v >= 1 }, "at least 1"},
		{"beam_width", float64(or(p.BeamWidth, 1)), func(v float64) bool { return v == 1 }, "1: there is no beam search"},
	} {
		if !f.ok(f.value) || math.IsInf(f.value, 0) {
			return bad("%s is %v, want %s", f.name, f.value, f.want)
		}
	}
	return nil
}

// seed returns the seed that a request brings, or one of the server's own.
func (s *Server) seed(given *int64) uint64 {
	if given != nil {
		return uint64(*given)
	}
	return rl.MixSeed(s.cfg.Seed, s.seeds.Add(1))
}

// ends says what ends a response.
func (s *Server) ends(p sglang.Params, sp *spec) error {
	sp.sampling.MinTokens = or(p.MinNewTokens, 0)
	if m := sp.sampling.MinTokens; m < 0 || m > sp.sampling.MaxTokens && m > 0 {
		return bad("min_new_tokens is %d, want 0 to max_new_tokens (%d)", m, sp.sampling.MaxTokens)
	}
	for _, id := range p.StopTokenIDs {
		if id < 0 || int(id) >= s.parts.Model.Vocab {
			return bad("stop_token_ids holds %d, want 0 to %d", id, s.parts.Model.Vocab-1)
		}
	}
	if !or(p.IgnoreEOS, false) {
		sp.sampling.StopIDs = slices.Concat(s.parts.StopIDs, p.StopTokenIDs)
	}
	if len(p.Stop)+len(p.StopRegex) > 0 && s.parts.Tokenizer == nil {
		return bad("stop is there, want stop_token_ids: the server runs without a tokenizer")
	}
	for _, stop := range p.Stop {
		if stop != "" {
			sp.stops = append(sp.stops, stop)
		}
	}
	if err := affordable(p); err != nil {
		return err
	}
	for _, source := range p.StopRegex {
		re, err := regexp.Compile(source)
		if err != nil {
			return bad("stop_regex %q: %w", source, err)
		}
		sp.regexes = append(sp.regexes, re)
	}
	sp.special, sp.keep = !or(p.SkipSpecialTokens, true), or(p.NoStopTrim, false)
	return nil
}

// bias reads logit_bias, ids ascending.
func (s *Server) bias(given map[string]float64) (out []rl.Bias, err error) {
	for key, add := range given {
		id, err := strconv.ParseInt(key, 10, 64)
		if err != nil || id < 0 || id >= int64(s.parts.Model.Vocab) {
			return nil, bad("logit_bias has the key %q, want a token id, 0 to %d", key, s.parts.Model.Vocab-1)
		}
		if v := float32(add); math.IsInf(float64(v), 0) {
			return nil, bad("logit_bias of %s is %v, want a number of 32 bits", key, add)
		}
		out = append(out, rl.Bias{Token: int32(id), Add: float32(add)})
	}
	slices.SortFunc(out, func(a, b rl.Bias) int { return int(a.Token) - int(b.Token) })
	for i := 1; i < len(out); i++ { // "7" and "07"
		if out[i].Token == out[i-1].Token {
			return nil, bad("logit_bias has token %d twice, want it once", out[i].Token)
		}
	}
	return out, nil
}

// grammar takes up what restricts a response.
func (s *Server) grammar(p sglang.Params, sp *spec) error {
	kind, source := "", ""
	for _, f := range []struct {
		kind string
		text *string
	}{{"regex", p.Regex}, {"json_schema", p.JSONSchema}, {"ebnf", p.EBNF}, {"structural_tag", p.StructuralTag}} {
		if f.text == nil {
			continue
		}
		if kind != "" {
			return bad("%s and %s are both there, want one of them", kind, f.kind)
		}
		kind, source = f.kind, *f.text
	}
	if kind == "" {
		return nil
	}
	if s.parts.Tokenizer == nil {
		return bad("%s is there, want none: the server runs without a tokenizer", kind)
	}
	sp.grammar = func() (rl.Constraint, error) { return s.grammars.start(kind, source) }
	return nil
}
