package hf

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"furlong/checkpoint"
	"furlong/checkpoint/safetensors"
	"furlong/quant"
	"furlong/tensor"
)

// A Survey is what a checkpoint holds: every tensor is a weight, the scale of one, or set aside.
type Survey struct {
	Scheme  Scheme
	Weights []Weight // in the order of the checkpoint
	Aside   []string // tensors of draft layers
}

// Look surveys a checkpoint without knowing the model's shapes. Whatever is wrong is listed: names that are no weight's, scales that
// are missing or don't fit, experts of a layer in two formats, contradictions to opt.Config.
func Look(src checkpoint.Source, opt LoadOptions) (*Survey, error) {
	if err := opt.complete(src); err != nil {
		return nil, err
	}
	v := &Survey{Scheme: opt.Scheme}
	stated, err := opt.stated()
	errs := []error{err}
	taken, wrong := map[string]bool{}, map[string]bool{}
	for _, name := range src.Names() {
		place, ok := PlaceOf(opt.Scheme, name)
		switch {
		case IsDraft(name, opt.Layers):
			v.Aside, taken[name] = append(v.Aside, name), true
			continue
		case !ok:
			continue
		}
		w, err := look(src, opt.Scheme, name, place)
		switch {
		case err != nil:
		case strings.HasSuffix(place.Param, tableLeaf):
			err = w.checkTable(src, opt.Experts)
		case !w.isNumbers():
			err = fmt.Errorf("is %v%v, want F32 or BF16, or FP8 or FP4 with scales", w.Type, w.Shape)
		default:
			err = w.checkStated(stated, src)
		}
		if err != nil {
			errs, wrong[name] = append(errs, fmt.Errorf("tensor %q: %w", name, err)), true
		}
		v.Weights = append(v.Weights, w)
		taken[name], taken[w.Scale] = true, true
		for _, n := range scaleNames(name) { // spoken for even where something is wrong, which is an error already
			taken[n] = taken[n] || wrong[name] && isQuantised(w.Type)
		}
	}
	return v, checkpoint.Join(append(errs, v.check(src, taken, wrong)...))
}

// checkTable says what is wrong with a routing table.
func (w Weight) checkTable(src checkpoint.Source, experts int) error {
	if !isTable(w.Type) {
		return fmt.Errorf("is %v%v, want I64 or I32", w.Type, w.Shape)
	}
	t, err := src.Tensor(w.Name)
	if err != nil {
		return err
	}
	return CheckTable(t, experts)
}

// check looks at the checkpoint as a whole, without weights of which something wrong is known already.
func (v *Survey) check(src checkpoint.Source, taken, wrong map[string]bool) (errs []error) {
	for _, name := range src.Names() {
		if !taken[name] {
			info, _ := src.Info(name)
			errs = append(errs, fmt.Errorf("tensor %q: is %v, which is no weight of DeepSeek-V4 in %v names", name, info, v.Scheme))
		}
	}
	first := map[string]Weight{}
	for _, w := range v.Weights {
		f, ok := first[w.Param]
		if wrong[w.Name] {
			continue
		}
		if !ok {
			first[w.Param] = w
		} else if err := sameFormat(f, w); err != nil {
			errs = append(errs, fmt.Errorf("tensor %q: %w", w.Name, err))
		}
	}
	return errs
}

// Against says in what the weights are not those of a model's parameters: what is missing, left over or of another shape.
func (v *Survey) Against(params []*tensor.Param) error {
	have := map[string]Weight{}
	for _, w := range v.Weights {
		have[w.Name] = w
	}
	var errs []error
	for _, p := range params {
		pieces, err := Pieces(v.Scheme, p.Name, p.Value.Shape)
		errs = append(errs, err)
		for _, want := range pieces {
			errs = append(errs, missing(have, want, p))
			delete(have, want.Name)
		}
	}
	for _, w := range v.Weights {
		if _, left := have[w.Name]; left {
			errs = append(errs, fmt.Errorf("tensor %q: is of no parameter of the model", w.Name))
		}
	}
	return checkpoint.Join(errs)
}

// missing says in what have does not have a piece of a parameter.
func missing(have map[string]Weight, want Piece, p *tensor.Param) error {
	w, ok := have[want.Name]
	switch {
	case !ok:
		return fmt.Errorf("tensor %q: is missing, wanted for parameter %q", want.Name, p.Name)
	case !slices.Equal(w.Shape, want.Shape):
		return fmt.Errorf("tensor %q: has shape %v, want %v", want.Name, w.Shape, want.Shape)
	}
	return nil
}

// sameFormat refuses tensors of one parameter in different formats: they are of two checkpoints.
func sameFormat(a, b Weight) error {
	if a.Format == b.Format && (a.Type == b.Type || a.Format == quant.FP4) {
		return nil
	}
	return fmt.Errorf("is %s, but %q, of the same layer's experts, is %s: shards of two checkpoints?", b.stored(), a.Name, a.stored())
}

// stored says how a weight is stored, in words.
func (w Weight) stored() string {
	if w.Format == (quant.Format{}) {
		return w.Type.String()
	}
	return w.Format.String()
}

// ReadRecipe returns how the weights of a checkpoint, a directory or one file, are stored: by each tensor's own format, which config.json
// must not contradict.
func ReadRecipe(path string, opt LoadOptions) (r quant.Recipe, err error) {
	src, err := safetensors.OpenDir(path)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	if opt.Config == nil {
		if opt.Config, err = configBeside(path); err != nil {
			return r, err
		}
	}
	v, err := Look(src, opt)
	if err == nil {
		r, err = v.Recipe()
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return r, err
}

// Recipe returns how the weights are stored.
func (v *Survey) Recipe() (quant.Recipe, error) {
	return quant.Deduce(func(yield func(string, quant.Format) bool) {
		for _, w := range v.Weights {
			if !yield(w.Param, w.Format) {
				return
			}
		}
	})
}
