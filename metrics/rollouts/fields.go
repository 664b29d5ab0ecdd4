package rollouts

import "furlong/rl"

// promptFields are the columns of prompts.
func promptFields(w *walk, all []*rl.Prompt) {
	ints(w, "prompt.group", all, func(p *rl.Prompt) *int64 { return &p.Group })
	lists(w, "prompt.tokens", all, func(p *rl.Prompt) *[]int32 { return &p.Tokens })
	texts(w, "prompt.id", all, func(p *rl.Prompt) *string { return &p.ID })
	texts(w, "prompt.text", all, func(p *rl.Prompt) *string { return &p.Text })
	texts(w, "prompt.label", all, func(p *rl.Prompt) *string { return &p.Label })
	texts(w, "prompt.set", all, func(p *rl.Prompt) *string { return &p.Set })
	lists(w, "prompt.metadata", all, func(p *rl.Prompt) *[]byte { return (*[]byte)(&p.Metadata) })
}

// verdicts, stops and notes are how many values there are of each.
const (
	verdicts = rl.Invalid + 1
	stops    = rl.StopText + 1
	notes    = rl.Broke + 1
)

// sampleFields are the columns of samples.
func sampleFields(w *walk, all []*flat) {
	ints(w, "sample.prompt", all, func(f *flat) *int { return &f.prompt })
	ints(w, "sample.request", all, func(f *flat) *int64 { return &f.s.Request })
	ints(w, "sample.index", all, func(f *flat) *int { return &f.s.Index })
	codes(w, "sample.stop", all, stops, func(f *flat) *rl.Stop { return &f.s.Stop })
	codes(w, "sample.verdict", all, verdicts, func(f *flat) *rl.Verdict { return &f.s.Verdict })
	codes(w, "sample.note", all, notes, func(f *flat) *rl.Note { return &f.s.Note })
	reals(w, "sample.reward", all, func(f *flat) *float64 { return &f.s.Reward })
	reals(w, "sample.advantage", all, func(f *flat) *float64 { return &f.s.Advantage })
	ints(w, "sample.cached_tokens", all, func(f *flat) *int { return &f.s.CachedTokens })
	ints(w, "sample.retractions", all, func(f *flat) *int { return &f.s.Retractions })
	texts(w, "sample.why", all, func(f *flat) *string { return &f.s.Why })
	texts(w, "sample.text", all, func(f *flat) *string { return &f.s.Text })
	samplingFields(w, all)
	responseFields(w, all)
	routeFields(w, "experts", all, func(f *flat) *rl.Routes { return &f.experts })
	routeFields(w, "train_experts", all, func(f *flat) *rl.Routes { return &f.trained })
	entryFields(w, all)
	toldFields(w, "told", all, func(f *flat) *told { return &f.told })
	toldFields(w, "prompt_told", all, func(f *flat) *told { return &f.promptTold })
}

func samplingFields(w *walk, all []*flat) {
	of := func(at func(*rl.Sampling) *float64) func(*flat) *float64 {
		return func(f *flat) *float64 { return at(&f.s.Sampling) }
	}
	reals(w, "sampling.temperature", all, of(func(s *rl.Sampling) *float64 { return &s.Temperature }))
	reals(w, "sampling.top_p", all, of(func(s *rl.Sampling) *float64 { return &s.TopP }))
	reals(w, "sampling.min_p", all, of(func(s *rl.Sampling) *float64 { return &s.MinP }))
	reals(w, "sampling.repetition_penalty", all, of(func(s *rl.Sampling) *float64 { return &s.RepetitionPenalty }))
	reals(w, "sampling.frequency_penalty", all, of(func(s *rl.Sampling) *float64 { return &s.FrequencyPenalty }))
	reals(w, "sampling.presence_penalty", all, of(func(s *rl.Sampling) *float64 { return &s.PresencePenalty }))
	ints(w, "sampling.top_k", all, func(f *flat) *int { return &f.s.Sampling.TopK })
	ints(w, "sampling.max_tokens", all, func(f *flat) *int { return &f.s.Sampling.MaxTokens })
	ints(w, "sampling.min_tokens", all, func(f *flat) *int { return &f.s.Sampling.MinTokens })
	ints(w, "sampling.seed", all, func(f *flat) *uint64 { return &f.s.Sampling.Seed })
	lists(w, "sampling.stop_ids", all, func(f *flat) *[]int32 { return &f.s.Sampling.StopIDs })
	lists(w, "sampling.bias.token", all, func(f *flat) *[]int32 { return &f.biasToken })
	lists(w, "sampling.bias.add", all, func(f *flat) *[]float32 { return &f.biasAdd })
}

func responseFields(w *walk, all []*flat) {
	lists(w, "response.tokens", all, func(f *flat) *[]int32 { return &f.s.Response })
	for name, at := range map[string]func(*flat) *[]float32{
		"response.logprobs":           func(f *flat) *[]float32 { return &f.s.LogProbs },
		"response.truncated_logprobs": func(f *flat) *[]float32 { return &f.s.TruncLogProbs },
		"response.train_logprobs":     func(f *flat) *[]float32 { return &f.s.TrainLogProbs },
		"response.ref_logprobs":       func(f *flat) *[]float32 { return &f.s.RefLogProbs },
		"response.entropy":            func(f *flat) *[]float32 { return &f.s.Entropy },
		"prompt_logprobs":             func(f *flat) *[]float32 { return &f.s.PromptLogProbs },
	} {
		lists(w, name, all, at)
	}
	lists(w, "response.loss_mask", all, func(f *flat) *[]byte { return &f.mask })
	lists(w, "response.version", all, func(f *flat) *[]int64 { return &f.version })
	lists(w, "response.version_tokens", all, func(f *flat) *[]int64 { return &f.versionTokens })
}

func routeFields(w *walk, name string, all []*flat, at func(*flat) *rl.Routes) {
	ints(w, name+".layers", all, func(f *flat) *int { return &at(f).Layers })
	ints(w, name+".choices", all, func(f *flat) *int { return &at(f).Choices })
	ints(w, name+".experts", all, func(f *flat) *int { return &at(f).Experts })
	lists(w, name+".rows", all, func(f *flat) *[]byte { return &at(f).Rows })
}

func entryFields(w *walk, all []*flat) {
	ints(w, "entries.rate", all, func(f *flat) *int { return &f.entries.Rate })
	ints(w, "entries.most", all, func(f *flat) *int { return &f.entries.Most })
	ints(w, "entries.tokens", all, func(f *flat) *int { return &f.entries.Tokens })
	lists(w, "entries.layers", all, func(f *flat) *[]int64 { return &f.entryLayers })
	lists(w, "entries.row_bytes", all, func(f *flat) *[]int64 { return &f.entryBytes })
	lists(w, "entries.rows", all, func(f *flat) *[]byte { return &f.entryRows })
}

func toldFields(w *walk, name string, all []*flat, at func(*flat) *told) {
	lists(w, name+".top_count", all, func(f *flat) *[]int32 { return &at(f).tops })
	lists(w, name+".top_token", all, func(f *flat) *[]int32 { return &at(f).topToken })
	lists(w, name+".top_logprob", all, func(f *flat) *[]float32 { return &at(f).topLogProb })
	lists(w, name+".among_count", all, func(f *flat) *[]int32 { return &at(f).amongs })
	lists(w, name+".among_logprob", all, func(f *flat) *[]float32 { return &at(f).among })
}
