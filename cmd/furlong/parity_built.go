package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"furlong/parity"
	"furlong/quant"
	"furlong/rl"
	"furlong/tokenizer"
	"furlong/weightsync"
)

// A tokenizerOf is a model's tokenizer and the ids that end a response.
type tokenizerOf struct {
	tokenizer.Tokenizer
	stops []int32
}

// tokenizer opens the tokenizer of the model that the sides have: that of --hf-checkpoint, or of the first side that names one.
func (p *parityJob) tokenizer() error {
	dir := p.f.model.Checkpoint
	for _, s := range p.specs {
		if dir != "" {
			break
		}
		if dir = s.built.model.Checkpoint; s.kind == "hf" {
			dir = s.place
		}
	}
	p.words = tokenizerOf{tokenizer.Bytes{}, []int32{tokenizer.Bytes{}.EOS()}}
	if _, err := os.Stat(filepath.Join(dir, "tokenizer.json")); dir == "" || err != nil {
		return nil
	}
	t, err := tokenizer.Open(dir)
	if err != nil {
		return err
	}
	p.words = tokenizerOf{t, t.Facts().Stops}
	return nil
}

// openBuilt loads the model of a side of this binary.
func (p *parityJob) openBuilt(b builtSpec) (*policy, quant.Recipe, error) {
	recipe, err := quant.ParseRecipe(b.format)
	if err != nil {
		return nil, recipe, err
	}
	pol, err := loadPolicyFor(b.model, recipe, p.log)
	return pol, recipe, err
}

// aboutBuilt says what an engine of this binary is.
func (p *parityJob) aboutBuilt(s sideSpec, pol *policy) parity.About {
	b := s.built
	a := parity.About{
		Side: s.text, Kind: s.kind, Model: b.model.Checkpoint, Weights: b.weights(), KV: b.kv, Arithmetic: "float32", Backend: b.model.Backend,
		Context: pol.Config().MaxPositions, Vocab: pol.Config().Vocab, Tokenizer: parity.Describe(p.words.Tokenizer), Config: map[string]any{},
	}
	if a.Model == "" {
		a.Model = "built-in"
	}
	_ = json.Unmarshal(pol.Config().JSON(), &a.Config) // it was just written
	if b.model.Threads > 0 {
		a.Facts = append(a.Facts, parity.Fact{Name: "threads", Value: fmt.Sprint(b.model.Threads)})
	}
	return a
}

// weights names the formats of weights: that of plain matrices, and of those that quantise.
func (b builtSpec) weights() string {
	if b.format == "bf16" {
		return b.model.Format
	}
	return b.model.Format + " " + b.format
}

// like returns b in the formats of another side, or an error that wraps ErrNoTwin.
func (b builtSpec) like(other parity.About) (builtSpec, error) {
	plain, recipe, _ := strings.Cut(other.Weights, " ")
	if recipe == "" {
		recipe = "bf16"
	}
	_, err := quant.ParseRecipe(recipe)
	if err != nil || plain != "bf16" && plain != "f32" || other.Arithmetic != "float32" {
		return b, fmt.Errorf("%w: A side of weights %q and arithmetic %q is none of this binary's", parity.ErrNoTwin, other.Weights, other.Arithmetic)
	}
	b.model.Format, b.format = plain, recipe
	if other.KV != "" {
		b.kv = other.KV
	}
	return b, nil
}

// stateOf returns the digest of weights as an engine attests it.
func stateOf(ctx context.Context, w rl.Weights) (string, error) {
	raw, err := w.Manifest(ctx)
	if err != nil {
		return "", err
	}
	m, err := weightsync.ParseManifest(raw)
	if err != nil {
		return "", err
	}
	return m.State.String(), nil
}

// open makes a side ready.
func (p *parityJob) open(ctx context.Context, s sideSpec) (side parity.Side, err error) {
	switch s.kind {
	case "rollout":
		side, err = p.openRollout(ctx, s)
	case "trainer":
		side, err = p.openTrainer(ctx, s)
	case "http":
		side, err = p.openServer(ctx, s)
	case "hf":
		side, err = p.openHF(ctx, s)
	case "dir":
		return p.record(s.place)
	}
	if err != nil {
		return nil, err
	}
	p.ends = append(p.ends, func() { _ = side.Close() })
	return side, nil
}

// record opens a recording, once.
func (p *parityJob) record(dir string) (*parity.Record, error) {
	if r := p.records[dir]; r != nil {
		return r, nil
	}
	r, err := parity.OpenRecord(dir)
	if err != nil {
		return nil, err
	}
	p.records[dir] = r
	p.ends = append(p.ends, func() { _ = r.Close() })
	return r, nil
}

// recorded returns the first side that is a recording, nil for none: it has answers to its own prompts only.
func (p *parityJob) recorded() (*parity.Record, error) {
	for _, s := range p.specs {
		if s.kind == "dir" {
			return p.record(s.place)
		}
	}
	return nil, nil
}

var errDrawn = errors.New("the engine gave no sample")

// asPrompt returns tokens as a request has them.
func asPrompt(s parity.Sequence, tokens []int32) *rl.Prompt {
	return &rl.Prompt{ID: s.ID, Tokens: tokens}
}
