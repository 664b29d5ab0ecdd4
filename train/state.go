package train

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
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
// number of steps taken.
const (
	modelDir  = "model"
	optimFile = "optimizer.safetensors"
	stepsKey  = "steps"
)

// Save writes the complete state into dir, which must exist.
func (e *Engine) Save(ctx context.Context, dir string) error {
	if err := e.Export(filepath.Join(dir, modelDir), hf.Ref); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return e.saveOptimizer(filepath.Join(dir, optimFile))
}

// Export writes the actor alone, in a naming scheme of the Hugging Face layout.
func (e *Engine) Export(dir string, scheme hf.Scheme) error {
	return hf.Save(dir, e.actor.Params(), scheme, e.files.ConfigJSON, hf.SaveOptions{Experts: e.files.Experts})
}

// Load restores what Save wrote.
func (e *Engine) Load(_ context.Context, dir string) error {
	if err := LoadModel(e.actor, filepath.Join(dir, modelDir), e.files); err != nil {
		return err
	}
	if err := e.loadOptimizer(filepath.Join(dir, optimFile)); err != nil {
		return err
	}
	e.prepare()
	return nil
}

// LoadModel fills m from a checkpoint in the Hugging Face layout. Layouts must be prepared afterwards.
func LoadModel(m model.Model, path string, f Files) error {
	_, err := hf.Load(path, m.Params(), hf.LoadOptions{Layers: f.Layers, Experts: f.Experts})
	return err
}

// Restart makes the optimizer start anew from the actor's present weights: after they were loaded from elsewhere.
func (e *Engine) Restart() {
	e.opt = optim.New(e.cfg.Optim, e.actor.Params())
	e.prepare()
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

func (e *Engine) saveOptimizer(path string) error {
	var entries []checkpoint.Entry
	e.eachPart(func(name string, _ []float32, shape []int) error {
		entries = append(entries, checkpoint.Entry{Name: name, Info: checkpoint.Info{Type: dtype.F32, Shape: shape}})
		return nil
	})
	w, err := safetensors.Create(path, entries, map[string]string{stepsKey: strconv.Itoa(e.opt.Steps())})
	if err != nil {
		return err
	}
	err = e.eachPart(func(name string, x []float32, shape []int) error { return w.Write(name, tensor.Of(x, shape...)) })
	return errors.Join(err, w.Close())
}

// eachPart calls f for every tensor of the optimizer's state, in order.
func (e *Engine) eachPart(f func(name string, x []float32, shape []int) error) error {
	for _, s := range e.opt.States() {
		for _, p := range parts {
			if err := f(s.Param.Name+p.suffix, p.of(s), s.Param.Value.Shape); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *Engine) loadOptimizer(path string) (err error) {
	f, err := safetensors.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	steps, err := strconv.Atoi(f.Metadata()[stepsKey])
	if err != nil || steps < 0 {
		return fmt.Errorf("%s: %s is %q, want a count", path, stepsKey, f.Metadata()[stepsKey])
	}
	want := 0
	err = e.eachPart(func(name string, x []float32, shape []int) error {
		want++
		t, err := f.Tensor(name)
		if err != nil {
			return err
		}
		if t.Type != dtype.F32 || !slices.Equal(t.Shape, shape) {
			return fmt.Errorf("%s: %s is %v, want F32%v", path, name, t, shape)
		}
		copy(x, t.F32())
		return nil
	})
	if err != nil {
		return err
	}
	if got := len(f.Names()); got != want {
		return fmt.Errorf("%s: has %d tensors, the optimizer %d", path, got, want)
	}
	e.opt.SetSteps(steps)
	for _, s := range e.opt.States() {
		s.Push()
	}
	return nil
}
