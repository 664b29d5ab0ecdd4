package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"furlong/checkpoint/hf"
	"furlong/dtype"
	"furlong/model/dsv4"
	"furlong/quant"
	"furlong/rollout"
	"furlong/starter"
	"furlong/tokenizer"
	"furlong/train"
)

// modelFlags say which model a command works on, and in which format.
type modelFlags struct {
	Checkpoint string `flag:"hf-checkpoint" help:"directory in the Hugging Face layout; without it, the model inside the binary"`
	Format     string `flag:"dtype" choices:"bf16 f32" help:"format of the weights in both engines"`
	Threads    int    `flag:"threads" help:"processor threads; 0 takes all"`
	Backend    string `flag:"backend" choices:"cpu ref" help:"what computes: the processor's vector units, or the plain reference"`
}

func defaultModel() modelFlags { return modelFlags{Format: "bf16", Backend: "cpu"} }

// Validate reports what is wrong with f, in the words of the flags.
func (f modelFlags) Validate() error {
	return checkThreads(f.Threads)
}

// checkThreads reports a number of threads that no backend is opened with.
func checkThreads(n int) error {
	if n < 0 || n > 1024 {
		return fmt.Errorf("--threads is %d, want 0 (all) to 1024", n)
	}
	return nil
}

func (f modelFlags) format() dtype.Type {
	if f.Format == "f32" {
		return dtype.F32
	}
	return dtype.BF16
}

// A policy is a model with what goes along with it.
type policy struct {
	*dsv4.Model
	files train.Files
	tok   tokenizer.Tokenizer
}

// newPolicy returns a policy of the given config.json, without weights.
func newPolicy(raw []byte, where string, f modelFlags) (*policy, error) {
	cfg, err := dsv4.ReadConfig(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	tok := tokenizer.Bytes{}
	if cfg.Vocab < tok.Size() {
		return nil, fmt.Errorf("%s: vocab_size is %d, want at least %d, the size of the byte tokenizer", where, cfg.Vocab, tok.Size())
	}
	files := train.Files{ConfigJSON: raw, Layers: len(cfg.Layers), Experts: cfg.Experts}
	return &policy{dsv4.New(cfg, f.format()), files, tok}, nil
}

// loadPolicy returns the policy that the flags name, with its weights.
func loadPolicy(f modelFlags, log *slog.Logger) (*policy, error) {
	return loadPolicyFor(f, quant.Recipe{}, log)
}

// loadPolicyFor returns the policy that the flags name for an engine that holds weights by a recipe: where the checkpoint does so too, its bytes are
// kept, since codes that are unpacked and packed again mean the same numbers but may be others.
func loadPolicyFor(f modelFlags, r quant.Recipe, log *slog.Logger) (*policy, error) {
	if f.Checkpoint == "" {
		return builtIn(f)
	}
	at := filepath.Join(f.Checkpoint, "config.json")
	raw, err := os.ReadFile(at)
	if err != nil {
		return nil, err
	}
	p, err := newPolicy(raw, at, f)
	if err != nil {
		return nil, err
	}
	if err := p.keep(f.Checkpoint, r); err != nil {
		return nil, err
	}
	rep, err := hf.Load(f.Checkpoint, p.Params(), p.options())
	if err != nil {
		return nil, err
	}
	if err := train.Finite(p.Params()); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Checkpoint, err)
	}
	log.Info("checkpoint loaded", "path", f.Checkpoint, "what", rep.String())
	return p, nil
}

func builtIn(f modelFlags) (*policy, error) {
	p, err := newPolicy(starter.Config, "built-in config.json", f)
	if err != nil {
		return nil, err
	}
	w, err := starter.Weights()
	if err != nil {
		return nil, err
	}
	_, err = hf.LoadFrom(w, p.Params(), p.options())
	return p, err
}

// keep gives the weights the formats of a recipe if those of a checkpoint have the same.
func (p *policy) keep(path string, r quant.Recipe) error {
	if r == (quant.Recipe{}) {
		return nil
	}
	own, err := hf.ReadRecipe(path, p.options())
	if err != nil || own.Dense != r.Dense || own.Experts != r.Experts {
		return err
	}
	return r.Apply(p.Params())
}

func (p *policy) options() hf.LoadOptions {
	return hf.LoadOptions{Layers: p.files.Layers, Experts: p.files.Experts}
}

// formatOf returns the format in which a rollout engine wants its weights. Its settings were checked.
func formatOf(c rollout.Config) quant.Recipe {
	r, err := quant.ParseRecipe(c.Format)
	if err != nil {
		panic(err)
	}
	return r
}

// holds reports a context that is longer than the model's.
func (p *policy) holds(context int) error {
	if most := p.Config().MaxPositions; context > most {
		return fmt.Errorf("--context-length is %d, want at most %d, the model's max_position_embeddings", context, most)
	}
	return nil
}

// twin returns a model of the same shape without weights: the rollout engine's own.
func (p *policy) twin(f modelFlags) *dsv4.Model { return dsv4.New(p.Config(), f.format()) }
