package rollout

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"furlong/dtype"
	"furlong/model"
	"furlong/rl"
	"furlong/tensor"
)

// Update takes up new weights. They are read and checked while the engine goes on under the old ones; what is wrong with them is an error and
// changes nothing. Then, between two passes, they take the old ones' place together with all state that was derived from those.
func (e *Engine) Update(ctx context.Context, w rl.Weights) error {
	select {
	case e.updating <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-e.updating }()
	if err := e.update(ctx, w); err != nil {
		return fmt.Errorf("rollout: update to version %v: %w", w.Version(), err)
	}
	return nil
}

func (e *Engine) update(ctx context.Context, w rl.Weights) (err error) {
	staged := e.stage(ctx, w)
	gone := e.do(ctx, func() {
		if staged != nil {
			e.stats.Refused++
			return
		}
		err = e.swap(w.Version())
	})
	if staged != nil {
		return staged
	}
	return errors.Join(gone, err)
}

// swap puts staged values into the model. Only the loop calls it.
func (e *Engine) swap(v rl.Version) error {
	e.stats.Retracted += len(e.sched.Retract())
	if c := e.pages.Cache(); c != nil {
		c.Flush()
	}
	e.version = 0 // until all of it is there
	err := guard(func() {
		for i, p := range e.m.Params() {
			copy(p.Value.Mem, e.staged[i].Mem)
		}
		model.Prepare(e.lanes.whole.ctx, e.m)
	})
	if err != nil {
		e.fail(fmt.Errorf("update to version %v broke: %w", v, err))
		return err
	}
	e.version = v
	e.stats.Updates++
	return nil
}

// guard runs mathematics, where a mistake panics, and turns that into an error.
func guard(f func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v\n%s", r, debug.Stack())
		}
	}()
	f()
	return nil
}

// stage reads w into the staging copy. All of the model's tensors must come, each once, and nothing else.
func (e *Engine) stage(ctx context.Context, w rl.Weights) error {
	if w.Version() == 0 {
		return fmt.Errorf("version 0 is no version")
	}
	params := e.m.Params()
	if e.staged == nil {
		for _, p := range params {
			e.staged = append(e.staged, tensor.New(p.Value.Type, p.Value.Shape...))
		}
	}
	missing := make(map[string]int, len(params))
	for i, p := range params {
		missing[p.Name] = i
	}
	for t, err := range w.Tensors(ctx) {
		if err != nil {
			return err
		}
		i, ok := missing[t.Name]
		if !ok {
			return e.stranger(t.Name)
		}
		if err := fill(e.staged[i], t); err != nil {
			return fmt.Errorf("%s: %w", t.Name, err)
		}
		delete(missing, t.Name)
	}
	return incomplete(missing, len(params))
}

// stranger says why a name is not expected, or not any more.
func (e *Engine) stranger(name string) error {
	for _, p := range e.m.Params() {
		if p.Name == name {
			return fmt.Errorf("%s came twice", name)
		}
	}
	return fmt.Errorf("%s is no tensor of this model", name)
}

func incomplete(missing map[string]int, all int) error {
	if len(missing) == 0 {
		return nil
	}
	var names []string
	for name := range missing {
		names = append(names, name)
	}
	slices.Sort(names)
	shown := names[:min(3, len(names))]
	return fmt.Errorf("%d of %d tensors did not come, among them %s", len(names), all, strings.Join(shown, ", "))
}

// fill sets to to the values of t, which must have its shape, and its format or one that holds the same numbers.
func fill(to *tensor.Tensor, t rl.Tensor) error {
	if !slices.Equal(t.Shape, to.Shape) {
		return fmt.Errorf("shape is %v, want %v", t.Shape, to.Shape)
	}
	from := &tensor.Tensor{Shape: to.Shape}
	switch t.Type {
	case to.Type.String():
		from.Type = to.Type
	case dtype.F32.String():
		from.Type = dtype.F32
	case dtype.BF16.String():
		from.Type = dtype.BF16
	default:
		return fmt.Errorf("format is %s, want %v", t.Type, to.Type)
	}
	if want := from.Type.Bytes(to.Len()); len(t.Data) != want {
		return fmt.Errorf("%d bytes of %s came, want %d", len(t.Data), t.Type, want)
	}
	if from.Type == to.Type {
		copy(to.Mem, t.Data)
		return nil
	}
	from = tensor.New(from.Type, to.Shape...)
	copy(from.Mem, t.Data)
	return convert(to, from)
}

// convert sets to to the numbers of from. Nothing is rounded: formats with other numbers are refused.
func convert(to, from *tensor.Tensor) error {
	switch {
	case to.Type == dtype.F32 && from.Type == dtype.BF16:
		out := to.F32()
		for i, b := range from.BF16() {
			out[i] = dtype.FromBF16(b)
		}
		return nil
	case to.Type == dtype.BF16 && from.Type == dtype.F32:
		out := to.BF16()
		for i, v := range from.F32() {
			if out[i] = dtype.ToBF16(v); dtype.FromBF16(out[i]) != v {
				return fmt.Errorf("element %d is %v in F32, which BF16 does not hold; want the model's format", i, v)
			}
		}
		return nil
	}
	return fmt.Errorf("format is %v, want %v", from.Type, to.Type)
}
