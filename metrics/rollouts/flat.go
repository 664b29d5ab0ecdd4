package rollouts

import (
	"encoding/json"
	"errors"
	"fmt"

	"furlong/rl"
)

// A flat is a sample with its nested parts as lists.
type flat struct {
	s      *rl.Sample
	prompt int // number of its prompt

	biasToken []int32
	biasAdd   []float32
	mask      []byte // 1 where the token trains

	version, versionTokens []int64

	experts, trained rl.Routes  // the zero Routes for none
	entries          rl.Entries // without layers and rows; the zero Entries for none
	entryLayers      []int64
	entryBytes       []int64 // of each layer
	entryRows        []byte  // of all layers, end to end

	told, promptTold told
}

// told is a list of rl.Told as lists.
type told struct {
	tops, topToken []int32 // how many at each position, and all of them
	topLogProb     []float32
	amongs         []int32
	among          []float32
}

func flatten(s *rl.Sample, prompt int) *flat {
	f := &flat{s: s, prompt: prompt, told: flattenTold(s.Told), promptTold: flattenTold(s.PromptTold)}
	for _, b := range s.Sampling.Bias {
		f.biasToken, f.biasAdd = append(f.biasToken, b.Token), append(f.biasAdd, b.Add)
	}
	for _, trains := range s.LossMask {
		f.mask = append(f.mask, bit(trains))
	}
	for _, v := range s.Versions {
		f.version, f.versionTokens = append(f.version, int64(v.Version)), append(f.versionTokens, int64(v.Tokens))
	}
	if s.Experts != nil {
		f.experts = *s.Experts
	}
	if s.TrainExperts != nil {
		f.trained = *s.TrainExperts
	}
	if e := s.Entries; e != nil {
		f.entries = *e
		for i, l := range e.Layers {
			f.entryLayers, f.entryBytes = append(f.entryLayers, int64(l)), append(f.entryBytes, int64(len(e.Rows[i])))
			f.entryRows = append(f.entryRows, e.Rows[i]...)
		}
	}
	return f
}

func bit(on bool) byte {
	if on {
		return 1
	}
	return 0
}

func flattenTold(all []rl.Told) (t told) {
	for _, at := range all {
		t.tops, t.amongs = append(t.tops, int32(len(at.Top))), append(t.amongs, int32(len(at.Among)))
		t.among = append(t.among, at.Among...)
		for _, a := range at.Top {
			t.topToken, t.topLogProb = append(t.topToken, a.Token), append(t.topLogProb, a.LogProb)
		}
	}
	return t
}

// check reports what cannot be put together again, or is no sample.
func (f *flat) check() error {
	s, n := f.s, len(f.s.Response)
	for _, c := range []struct {
		name      string
		len, want int
		may       bool // be left out
	}{
		{"response.logprobs", len(s.LogProbs), n, true},
		{"response.truncated_logprobs", len(s.TruncLogProbs), n, true},
		{"response.train_logprobs", len(s.TrainLogProbs), n, true},
		{"response.ref_logprobs", len(s.RefLogProbs), n, true},
		{"response.entropy", len(s.Entropy), n, true},
		{"response.loss_mask", len(f.mask), n, true},
		{"sampling.bias.add", len(f.biasAdd), len(f.biasToken), false},
		{"response.version_tokens", len(f.versionTokens), len(f.version), false},
		{"entries.row_bytes", len(f.entryBytes), len(f.entryLayers), false},
	} {
		if c.len != c.want && !(c.may && c.len == 0) {
			return fmt.Errorf("%s has %d values, want %d", c.name, c.len, c.want)
		}
	}
	return errors.Join(f.checkTokens(), f.checkVersions(), f.checkRoutes(), f.checkEntries(), f.told.check("told"), f.promptTold.check("prompt_told"))
}

func (f *flat) checkTokens() error {
	if f.s.Prompt == nil || len(f.s.Prompt.Tokens) == 0 {
		return errors.New("prompt.tokens is empty: a response follows something")
	}
	for name, ids := range map[string][]int32{"prompt.tokens": f.s.Prompt.Tokens, "response.tokens": f.s.Response} {
		for i, id := range ids {
			if id < 0 {
				return fmt.Errorf("%s: token %d is %d, want 0 or more", name, i, id)
			}
		}
	}
	if m := f.s.Prompt.Metadata; len(m) > 0 && !json.Valid(m) {
		return fmt.Errorf("prompt.metadata is %.40q, want JSON", m)
	}
	for i, m := range f.mask {
		if m > 1 {
			return fmt.Errorf("response.loss_mask: token %d is %d, want 0 or 1", i, m)
		}
	}
	return nil
}

// checkVersions reports runs of versions that are not over the response. A file may leave them out.
func (f *flat) checkVersions() error {
	left := int64(len(f.s.Response))
	for i, v := range f.version {
		n := f.versionTokens[i]
		if v < 0 || v != int64(rl.Version(v)) || n < 0 || n > left {
			return fmt.Errorf("response.version: run %d is of version %d, %d tokens, with %d to come", i, v, n, left)
		}
		left -= n
	}
	if left != 0 && len(f.version) > 0 {
		return fmt.Errorf("response.version_tokens leave %d tokens without a version", left)
	}
	return nil
}

// tokens returns how many prompt and response have.
func (f *flat) tokens() int { return len(f.s.Prompt.Tokens) + len(f.s.Response) }

func (f *flat) checkRoutes() error {
	const most = 1 << 16
	for name, r := range map[string]*rl.Routes{"experts": &f.experts, "train_experts": &f.trained} {
		if min(r.Layers, r.Choices, r.Experts) < 0 || max(r.Layers, r.Choices, r.Experts) > most {
			return fmt.Errorf("%s: %d of %d experts in %d layers, want 0 to %d of each", name, r.Choices, r.Experts, r.Layers, most)
		}
		token := r.Layers * r.RowBytes()
		if token == 0 && len(r.Rows) > 0 || token > 0 && len(r.Rows)%token != 0 || r.Len() > f.tokens() {
			return fmt.Errorf("%s.rows has %d bytes, %d a token, want those of at most %d tokens", name, len(r.Rows), token, f.tokens())
		}
	}
	return nil
}

func (f *flat) checkEntries() error {
	e, left := f.entries, int64(len(f.entryRows))
	if e.Rate < 0 || e.Most < 0 || e.Tokens < 0 || e.Tokens > f.tokens() || e.Rate == 0 && len(f.entryLayers) > 0 {
		return fmt.Errorf("entries: %d of windows of %d tokens for %d tokens, want windows of 1 or more and at most %d tokens", e.Most, e.Rate, e.Tokens, f.tokens())
	}
	for i, n := range f.entryBytes {
		if n < 0 || n > left {
			return fmt.Errorf("entries.row_bytes: layer %d has %d bytes of rows, with %d to come", f.entryLayers[i], n, left)
		}
		left -= n
	}
	if left != 0 {
		return fmt.Errorf("entries.rows: %d bytes are of no layer", left)
	}
	return nil
}

func (t *told) check(name string) error {
	if len(t.amongs) != len(t.tops) || len(t.topLogProb) != len(t.topToken) {
		return fmt.Errorf("%s: %d and %d counts, %d tokens with %d logprobs: want equal numbers", name, len(t.tops), len(t.amongs), len(t.topToken), len(t.topLogProb))
	}
	if !sumsTo(t.tops, len(t.topToken)) || !sumsTo(t.amongs, len(t.among)) {
		return fmt.Errorf("%s: counts do not add up to %d tokens and %d logprobs", name, len(t.topToken), len(t.among))
	}
	return nil
}

// sumsTo reports whether counts of at least 0 add up to n.
func sumsTo(counts []int32, n int) bool {
	for _, c := range counts {
		if c < 0 || int(c) > n {
			return false
		}
		n -= int(c)
	}
	return n == 0
}
