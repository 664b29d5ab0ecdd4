package train

import (
	"context"
	"path/filepath"
	"strconv"

	"furlong/checkpoint"
	"furlong/checkpoint/hf"
	"furlong/checkpoint/safetensors"
	"furlong/tensor"
	"furlong/train/optim"
)

// A State is everything that a checkpoint of the trainer consists of: the engine's own memory, or a copy of it. Copies may be saved from another goroutine
// while the engine trains.
type State struct {
	actor  stored
	critic *stored // nil without one
	files  Files
	bare   bool // without optimizers
}

// stored is a model and the optimizer of its trained parameters, as they are written.
type stored struct {
	params  []*tensor.Param
	trained map[string]bool // those of params that training moves
	moments []moment
	steps   int
	format  string
}

// A moment is a tensor of the optimizer: masters, or one of the two moments.
type moment struct {
	name string
	*tensor.Tensor
}

// Copy returns a copy of the state of this moment. It holds until the next call of Copy, which writes into the same memory: what no step moves is not copied.
func (e *Engine) Copy() *State {
	now := e.state()
	if e.copied == nil {
		e.copied = now.emptied()
	}
	e.copied.take(now)
	return e.copied
}

// LeaveOutOptimizer has later saves hold the weights alone. What they write cannot be loaded again by Load.
func (e *Engine) LeaveOutOptimizer() { e.bare = true }

// state returns the engine's state over the engine's memory.
func (e *Engine) state() *State {
	s := &State{actor: storedOf(e.actor.Params(), e.opt, e.format()), files: e.files, bare: e.bare}
	if e.critic != nil {
		c := storedOf(e.critic.Params(), e.critic.opt, e.critic.format())
		s.critic = &c
	}
	return s
}

func storedOf(params []*tensor.Param, o *optim.AdamW, format string) stored {
	s := stored{params: params, trained: map[string]bool{}, steps: o.Steps(), format: format}
	for _, st := range o.States() {
		s.trained[st.Param.Name] = true
		for _, p := range parts {
			s.moments = append(s.moments, moment{st.Param.Name + p.suffix, tensor.Of(p.of(st), st.Param.Value.Shape...)})
		}
	}
	return s
}

// Bytes returns the memory that a copy of the state takes.
func (s *State) Bytes() int {
	n := s.actor.bytes(!s.bare)
	if s.critic != nil {
		n += s.critic.bytes(!s.bare)
	}
	return n
}

func (s *stored) bytes(optimizer bool) (n int) {
	for _, p := range s.params {
		if s.trained[p.Name] {
			n += memory(p.Value)
		}
	}
	for _, m := range s.moments {
		if optimizer {
			n += memory(m.Tensor)
		}
	}
	return n
}

// memory returns the bytes of a tensor, scales included.
func memory(t *tensor.Tensor) int {
	n := len(t.Mem)
	if t.Quantised() {
		n += len(t.Scale.Mem)
	}
	return n
}

// CopyBytes returns the memory that Copy takes, once.
func (e *Engine) CopyBytes() int { return e.state().Bytes() }

// emptied returns a state with room for s.
func (s *State) emptied() *State {
	c := &State{actor: s.actor.emptied(!s.bare), files: s.files, bare: s.bare}
	if s.critic != nil {
		critic := s.critic.emptied(!s.bare)
		c.critic = &critic
	}
	return c
}

func (s *stored) emptied(optimizer bool) stored {
	c := stored{trained: s.trained, format: s.format}
	for _, p := range s.params {
		own := *p
		own.Grad = nil
		if s.trained[p.Name] {
			own.Value = p.Value.Clone()
		}
		c.params = append(c.params, &own)
	}
	for _, m := range s.moments {
		if optimizer {
			c.moments = append(c.moments, moment{m.name, tensor.New(m.Type, m.Shape...)})
		}
	}
	return c
}

// take copies what is now in s's place.
func (s *State) take(now *State) {
	s.actor.take(&now.actor)
	if s.critic != nil {
		s.critic.take(now.critic)
	}
}

func (s *stored) take(now *stored) {
	s.steps = now.steps
	for i, p := range s.params {
		if v := now.params[i].Value; s.trained[p.Name] {
			copy(p.Value.Mem, v.Mem)
			if v.Quantised() {
				copy(p.Value.Scale.Mem, v.Scale.Mem)
			}
		}
	}
	for i, m := range s.moments {
		copy(m.Mem, now.moments[i].Mem)
	}
}

// Save writes the state into dir, which must not hold one.
func (s *State) Save(ctx context.Context, dir string) error {
	if err := s.actor.save(dir, s.files, !s.bare); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil || s.critic == nil {
		return err
	}
	return s.critic.save(filepath.Join(dir, criticDir), s.files, !s.bare)
}

// save writes a model and, if asked for, its optimizer.
func (s *stored) save(dir string, files Files, optimizer bool) error {
	err := hf.Save(filepath.Join(dir, modelDir), s.params, hf.Ref, files.ConfigJSON, hf.SaveOptions{Experts: files.Experts})
	if err != nil || !optimizer {
		return err
	}
	return s.saveOptimizer(filepath.Join(dir, optimFile))
}

func (s *stored) saveOptimizer(path string) error {
	entries := make([]checkpoint.Entry, len(s.moments))
	for i, m := range s.moments {
		entries[i] = checkpoint.Entry{Name: m.name, Info: checkpoint.Info{Type: m.Type, Shape: m.Shape}}
	}
	w, err := safetensors.Create(path, entries, map[string]string{stepsKey: strconv.Itoa(s.steps), formatKey: s.format})
	if err != nil {
		return err
	}
	for _, m := range s.moments {
		if err = w.Write(m.name, m.Tensor); err != nil {
			break
		}
	}
	if closed := w.Close(); err == nil {
		err = closed
	}
	return err
}
