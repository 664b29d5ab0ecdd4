package train

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"

	"furlong/checkpoint"
	"furlong/checkpoint/hf"
	"furlong/checkpoint/safetensors"
	"furlong/dtype"
	"furlong/model"
	"furlong/tensor"
	"furlong/train/optim"
)

// A checkpoint of the trainer is the actor in the Hugging Face layout, which anything can read, and the optimizer: float32 masters and moments, and the
// number of steps taken. A critic, where there is one, lies beside them in a directory of its own: its model, and its optimizer, which holds
// the critic's own weight, too.
const (
	criticDir = "critic"
	modelDir  = "model"
	optimFile = "optimizer.safetensors"
	stepsKey  = "steps"
	formatKey = "weights" // format of the weights that the masters round to
)

// Save writes the complete state into dir, which must not hold one.
func (e *Engine) Save(ctx context.Context, dir string) error { return e.state().Save(ctx, dir) }

// Export writes the actor alone, in a naming scheme of the Hugging Face layout.
func (e *Engine) Export(dir string, scheme hf.Scheme) error {
	return hf.Save(dir, e.actor.Params(), scheme, e.files.ConfigJSON, hf.SaveOptions{Experts: e.files.Experts})
}

// Load restores what Save wrote. A state that another model or other frozen tensors made, or whose two files do not belong
// together, is refused with the name of a tensor. Names, formats and shapes are compared before anything changes; after any later
// error the engine holds parts of both states.
func (e *Engine) Load(_ context.Context, dir string) (err error) {
	path := filepath.Join(dir, optimFile)
	f, err := safetensors.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: saved with --no-save-optim? A run cannot go on without its optimizer; --hf-checkpoint %s begins another with its weights", err, filepath.Join(dir, modelDir))
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	steps, err := checkOptimizer(f, e.opt, e.format())
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := e.loadCritic(filepath.Join(dir, criticDir)); err != nil {
		return err
	}
	if err := LoadModel(e.actor, filepath.Join(dir, modelDir), e.files); err != nil {
		return err
	}
	if err := fillOptimizer(f, e.opt); err != nil {
		return err
	}
	e.opt.SetSteps(steps)
	e.prepare()
	return nil
}

// LoadModel fills m from a checkpoint in the Hugging Face layout. Layouts must be prepared afterwards.
func LoadModel(m model.Model, path string, f Files) error {
	_, err := hf.Load(path, m.Params(), hf.LoadOptions{Layers: f.Layers, Experts: f.Experts})
	return err
}

// parts are the tensors that a parameter's optimizer state consists of.
var parts = []struct {
	suffix string
	of     func(s *optim.State) []float32
}{
	{".master", func(s *optim.State) []float32 { return s.Master }},
	{".exp_avg", func(s *optim.State) []float32 { return s.M }},
	{".exp_avg_sq", func(s *optim.State) []float32 { return s.V }},
}

// eachPart calls f for every tensor of the optimizer's state, in order.
func eachPart(o *optim.AdamW, f func(name string, x []float32, shape []int) error) error {
	for _, s := range o.States() {
		for _, p := range parts {
			if err := f(s.Param.Name+p.suffix, p.of(s), s.Param.Value.Shape); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkOptimizer compares a file with the optimizer and returns the number of steps that the file's state has taken.
func checkOptimizer(f *safetensors.File, o *optim.AdamW, format string) (steps int, err error) {
	known := map[string]bool{}
	var errs []error
	eachPart(o, func(name string, _ []float32, shape []int) error {
		known[name] = true
		want := checkpoint.Info{Type: dtype.F32, Shape: shape}
		if got, ok := f.Info(name); !ok {
			errs = append(errs, fmt.Errorf("tensor %q is missing", name))
		} else if !got.Equal(want) {
			errs = append(errs, fmt.Errorf("tensor %q is %v, want %v", name, got, want))
		}
		return nil
	})
	for _, name := range f.Names() {
		if !known[name] {
			errs = append(errs, fmt.Errorf("tensor %q is of no trained parameter", name))
		}
	}
	meta := f.Metadata()
	if got := meta[formatKey]; got != format {
		errs = append(errs, fmt.Errorf("%s are in %q, want %s: a run goes on in the format it began in (--dtype, --actor-format)", formatKey, got, format))
	}
	steps, err = strconv.Atoi(meta[stepsKey])
	if err != nil || steps < 0 {
		errs = append(errs, fmt.Errorf("%s is %q, want a count", stepsKey, meta[stepsKey]))
	}
	return steps, checkpoint.Join(errs)
}

// fillOptimizer reads masters and moments. The masters must be those of the weights that were loaded.
func fillOptimizer(f *safetensors.File, o *optim.AdamW) error {
	for _, s := range o.States() {
		if err := fillState(f, s); err != nil {
			return err
		}
	}
	return nil
}

func fillState(f *safetensors.File, s *optim.State) error {
	had := s.Param.Value.Clone()
	for _, p := range parts {
		t, err := f.Tensor(s.Param.Name + p.suffix)
		if err != nil {
			return err
		}
		copy(p.of(s), t.F32())
	}
	if s.Push(); !same(had, s.Param.Value) {
		return fmt.Errorf("%s: tensor %q rounds to other values than the model beside it has", optimFile, s.Param.Name+parts[0].suffix)
	}
	return nil
}

// same reports whether two tensors of one format hold the same bytes, scales included.
func same(a, b *tensor.Tensor) bool {
	return bytes.Equal(a.Mem, b.Mem) && (!a.Quantised() || bytes.Equal(a.Scale.Mem, b.Scale.Mem))
}
