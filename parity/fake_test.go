package parity

import (
	"context"
	"errors"
	"fmt"
	"math"

	"furlong/tokenizer"
)

// A fake is a side that computes logprobs by a rule.
type fake struct {
	about  About
	lp     func(s Sequence, t int, batch int) float32 // of token t of a response, in a call with so many sequences
	refuse error                                      // of scoring
	short  bool                                       // a logprob too few
	twin   func(other About) (Side, error)
	calls  []int
}

func (f *fake) About(context.Context) (About, error) { return f.about, nil }
func (f *fake) Close() error                         { return nil }

func (f *fake) Score(_ context.Context, seqs []Sequence, done func(int)) ([]Scores, error) {
	f.calls = append(f.calls, len(seqs))
	if f.refuse != nil {
		return nil, f.refuse
	}
	var out []Scores
	for i, s := range seqs {
		var lp []float32
		for t := range s.Response {
			lp = append(lp, f.lp(s, t, len(seqs)))
		}
		if f.short {
			lp = lp[1:]
		}
		out = append(out, Scores{LogProbs: lp})
		done(i + 1)
	}
	return out, nil
}

func (f *fake) Twin(_ context.Context, other About) (Side, error) {
	if f.twin == nil {
		return nil, ErrNoTwin
	}
	return f.twin(other)
}

// plainRule gives each token a logprob of its own.
func plainRule(s Sequence, t, _ int) float32 {
	return -1 / float32(1+(int(s.Response[t])*7+t)%13)
}

// shifted adds to a rule's logprobs.
func shifted(by func(t int) float32) func(Sequence, int, int) float32 {
	return func(s Sequence, t, n int) float32 { return plainRule(s, t, n) + by(t) }
}

// bytes is an about that a tokenizer of bytes gives.
func bytesAbout(name string) About {
	return About{
		Name: name, Weights: "bf16", KV: "auto", Arithmetic: "float32", Context: 4096, Vocab: 272, Tokenizer: Describe(tokenizer.Bytes{}),
		Config: map[string]any{"hidden_size": 32, "compress_rates": []int{4, 128, 4}},
	}
}

// texts returns sequences of bytes with responses of so many tokens.
func texts(lengths ...int) (out []Sequence) {
	for i, n := range lengths {
		s := Sequence{ID: fmt.Sprint("t", i), Prompt: []int32{65, 66, int32(67 + i)}}
		for t := range n {
			s.Response = append(s.Response, int32(48+(t*5+i)%60))
		}
		out = append(out, s)
	}
	return out
}

// options compares given responses.
func options(seqs []Sequence) Options {
	return Options{Settings: Settings{Worst: 3}, Sequences: seqs, Tokenizer: tokenizer.Bytes{}}
}

// A speaker is a side that can be probed: it draws from a fixed distribution and tells logprobs of some meaning.
type speaker struct {
	fake
	meaning int
	off     float64
}

// distribution is what a speaker draws from, at temperature 1.
var distribution = []float64{.35, .25, .2, .2}

func (s *speaker) Draw(_ context.Context, _ []int32, temperature, topP float64, top int) (Drawn, error) {
	var d Drawn
	for i, p := range distribution[:min(len(distribution), top)] {
		d.Likely = append(d.Likely, Likely{int32(i), float32(math.Log(p))})
	}
	if temperature == 1 {
		d.LogProb = float32(math.Log(distribution[0]))
		return d, nil
	}
	// By hand: at temperature 1/2 probabilities are the squares over their sum, of which top-p 1/2 leaves the first two.
	sum := 0.0
	for _, p := range distribution {
		sum += p * p
	}
	square := func(i int) float64 { return distribution[i] * distribution[i] / sum }
	kept, mass, plain := 0, 0.0, 0.0
	for mass < topP {
		mass += square(kept)
		plain += distribution[kept]
		kept++
	}
	told := [4]float64{square(1), distribution[1], square(1) / mass, distribution[1] / plain}
	d.Token, d.LogProb = 1, float32(math.Log(told[s.meaning])+s.off)
	return d, nil
}

var errBusy = errors.New("it is busy")
