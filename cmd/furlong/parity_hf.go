package main

import (
	"context"
	"os"
	"path/filepath"

	"furlong/checkpoint/hf"
	"furlong/parity"
	"furlong/parity/taps"
	"furlong/quant"
	"furlong/remote/transformers"
)

// An hfSide is the transformers library's model of a checkpoint as a side.
type hfSide struct {
	about parity.About
	p     *transformers.Process
}

// openHF starts a Python that has the library.
func (p *parityJob) openHF(ctx context.Context, s sideSpec) (*hfSide, error) {
	c := transformers.Default()
	c.Dir, c.Python, c.Dtype = s.place, p.f.server.Python, p.f.server.HFDtype
	if n := p.f.model.Threads; n > 0 {
		c.Threads = n
	}
	proc, err := transformers.Start(ctx, c)
	if err != nil {
		return nil, err
	}
	weights, err := storedAs(s.place)
	if err != nil {
		_ = proc.Close()
		return nil, err
	}
	h := proc.Hello()
	side := &hfSide{p: proc, about: parity.About{
		Side: s.text, Kind: "pytorch", Name: "transformers " + h.Versions["transformers"] + " on torch " + h.Versions["torch"], Model: s.place,
		Weights: weights, KV: "auto", Arithmetic: h.Dtype, Context: h.MaxPositions, Vocab: h.Vocab,
		Config: map[string]any{
			"vocab_size": h.Vocab, "hidden_size": h.Hidden, "num_hidden_layers": h.Layers, "hc_mult": h.Streams, "num_attention_heads": h.Heads,
			"head_dim": h.HeadDim, "n_routed_experts": h.Experts, "num_experts_per_tok": h.ExpertsPerToken,
		},
	}}
	for _, name := range []string{"python", "safetensors"} {
		side.about.Facts = append(side.about.Facts, parity.Fact{Name: name, Value: h.Versions[name]})
	}
	return side, nil
}

// storedAs names the format of a checkpoint's numbers: bf16 where all of them are some in BF16, whatever they are computed with, and f32 otherwise; "" where they are
// quantised, since how another program reads those is its own affair.
func storedAs(dir string) (string, error) {
	at := filepath.Join(dir, "config.json")
	raw, err := os.ReadFile(at)
	if err != nil {
		return "", err
	}
	p, err := newPolicy(raw, at, modelFlags{Format: "bf16"})
	if err != nil {
		return "", err
	}
	if r, err := hf.ReadRecipe(dir, p.options()); err != nil || r != (quant.Recipe{}) {
		return "", err
	}
	rep, err := hf.Load(dir, p.Params(), p.options())
	if err != nil {
		return "", err
	}
	if len(rep.Rounded) > 0 {
		return "f32", nil
	}
	return "bf16", nil
}

// About says what the library loaded.
func (h *hfSide) About(context.Context) (parity.About, error) { return h.about, nil }

// Close ends the Python.
func (h *hfSide) Close() error { return h.p.Close() }

// Score scores one sequence a pass.
func (h *hfSide) Score(ctx context.Context, seqs []parity.Sequence, done func(int)) ([]parity.Scores, error) {
	var out []parity.Scores
	for i, s := range seqs {
		got, err := h.p.Score(ctx, [][]int32{s.Tokens()}, 1)
		if err != nil {
			return nil, err
		}
		at := len(s.Prompt) - 1 // of the first response token: the list begins with the second token
		scores := parity.Scores{Top: got[0].Top[at:]}
		for _, lp := range got[0].LogProbs[at:] {
			scores.LogProbs = append(scores.LogProbs, float32(lp))
		}
		out = append(out, scores)
		done(i + 1)
	}
	return out, nil
}

// Taps records what the library computes of a sequence.
func (h *hfSide) Taps(ctx context.Context, s parity.Sequence) (*taps.Set, error) {
	f, err := h.p.Taps(ctx, s.Tokens())
	if err != nil {
		return nil, err
	}
	defer f.Close()
	set, err := taps.FromFile(f, s.Tokens())
	if err != nil {
		return nil, err
	}
	set.Origin = h.about.Name
	got, err := h.Score(ctx, []parity.Sequence{s}, func(int) {})
	if err != nil {
		return nil, err
	}
	return set, set.AddLogProbs(len(s.Prompt), got[0].LogProbs)
}
