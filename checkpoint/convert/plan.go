package convert

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"furlong/checkpoint"
	"furlong/checkpoint/hf"
	"furlong/dtype"
	"furlong/quant"
	"furlong/tensor"
)

// A plan is what is to be written, and from what.
type plan struct {
	opt     Options
	config  []byte // the destination's
	survey  *hf.Survey
	recipe  quant.Recipe // the source's
	units   []unit
	entries []checkpoint.Entry
	total   int64 // bytes
}

// A unit is a weight of the destination: a tensor, or codes and scales.
type unit struct {
	name    string
	shape   []int // in numbers
	fused   int
	format  quant.Format // the zero Format: numbers
	plain   dtype.Type   // of which type
	parts   []part
	entries []checkpoint.Entry
}

// A part is where some of a unit's numbers come from.
type part struct {
	weight hf.Weight
	from   *hf.Piece // of the source's weight; nil: all of it
	to     *hf.Piece // of the unit; nil: all of it
}

// in returns the unit's tensor over memory for its numbers or codes.
func (u unit) in(mem []byte) *tensor.Tensor {
	t := u.header()
	t.Mem = mem
	if t.Quantised() {
		t.Scale = tensor.New(t.Scale.Type, t.Scale.Shape...)
	}
	return t
}

// bytes returns how much memory that is.
func (u unit) bytes() int {
	t := u.header()
	return t.Type.Bytes(t.Len())
}

// is reports whether t is already as the unit is to be.
func (u unit) is(t *tensor.Tensor) bool {
	return quant.FormatOf(t) == u.format && (u.format != (quant.Format{}) && t.Fused == u.fused || u.format == (quant.Format{}) && t.Type == u.plain)
}

// newPlan surveys the source and decides what becomes of it.
func newPlan(src checkpoint.Source, from string, opt Options) (*plan, error) {
	config, err := os.ReadFile(filepath.Join(from, "config.json"))
	if err != nil {
		return nil, err
	}
	p := &plan{opt: opt}
	if p.survey, err = hf.Look(src, hf.LoadOptions{Layers: opt.Layers, Experts: opt.Experts, Config: config}); err != nil {
		return nil, err
	}
	if opt.Params != nil {
		if err := p.survey.Against(opt.Params); err != nil {
			return nil, err
		}
	}
	if p.opt.Scheme == 0 {
		p.opt.Scheme = p.survey.Scheme
	}
	if p.recipe, err = p.survey.Recipe(); err != nil {
		return nil, err
	}
	var errs []error
	var plain []string
	for _, g := range groups(p.survey) {
		units, err := p.split(g)
		p.units, errs = append(p.units, units...), append(errs, err)
		if err == nil && len(units[0].shape) > 1 && units[0].format == (quant.Format{}) {
			plain = append(plain, g.param)
		}
	}
	errs = append(errs, p.gaps()...)
	if err := checkpoint.Join(errs); err != nil {
		return nil, err
	}
	for i, u := range p.units {
		p.units[i].entries = hf.Announce(p.opt.Scheme, u.name, u.header())
		p.entries = append(p.entries, p.units[i].entries...)
	}
	for _, e := range p.entries {
		p.total += e.Bytes()
	}
	p.config, err = opt.Recipe.WriteConfig(config, hf.Modules(p.opt.Scheme, plain))
	return p, err
}

// header returns a tensor without memory like the unit's.
func (u unit) header() *tensor.Tensor {
	t := &tensor.Tensor{Type: u.plain, Shape: u.shape}
	if u.format != (quant.Format{}) {
		t.Type, t.Block, t.Fused = u.format.Code, [2]int{u.format.Block.Rows, u.format.Block.Cols}, u.fused
		t.Scale = &tensor.Tensor{Type: u.format.Scale, Shape: u.format.Grid(u.fused, u.shape...)}
	}
	return t
}

// A group is the tensors of the source that make up a parameter.
type group struct {
	param   string
	weights []hf.Weight
}

// groups returns parameters in the order in which the source first has a tensor of each.
func groups(v *hf.Survey) (list []*group) {
	at := map[string]*group{}
	for _, w := range v.Weights {
		g := at[w.Param]
		if g == nil {
			g = &group{param: w.Param}
			at[w.Param], list = g, append(list, g)
		}
		g.weights = append(g.weights, w)
	}
	return list
}

// shape returns the parameter's, or what is missing for it to have one.
func (g *group) shape(experts int) ([]int, error) {
	w := g.weights[0]
	if w.Expert < 0 {
		if quant.IsExpert(g.param) && (len(w.Shape) != 3 || w.Shape[0] != experts) {
			return nil, fmt.Errorf("tensor %q: is %v, want %d experts", w.Name, w.Shape, experts)
		}
		return w.Shape, nil
	}
	parts, have := quant.Fused(g.param), map[[2]int]bool{}
	for _, x := range g.weights {
		have[[2]int{x.Expert, x.Part}] = true
		switch {
		case fmt.Sprint(x.Shape) != fmt.Sprint(w.Shape) || len(x.Shape) != 2:
			return nil, fmt.Errorf("tensor %q: is %v, but %q is %v", x.Name, x.Shape, w.Name, w.Shape)
		case x.Expert >= experts:
			return nil, fmt.Errorf("tensor %q: is of expert %d, want 0 to %d", x.Name, x.Expert, experts-1)
		}
	}
	for e := range experts {
		for part := range parts {
			if !have[[2]int{e, part}] {
				missing := hf.Place{Param: g.param, Expert: e, Part: part}
				return nil, fmt.Errorf("parameter %q: expert %d is missing (%q in ref names)", g.param, e, missing.Name(hf.Ref))
			}
		}
	}
	return []int{experts, parts * w.Shape[0], w.Shape[1]}, nil
}

// split returns the units that a parameter becomes.
func (p *plan) split(g *group) ([]unit, error) {
	shape, err := g.shape(p.opt.Experts)
	if err != nil {
		return nil, err
	}
	fine, err := hf.Pieces(hf.Ref, g.param, shape)
	if err != nil {
		return nil, err
	}
	of := map[hf.Place]hf.Weight{}
	for _, w := range g.weights {
		of[w.Place] = w
	}
	whole := unit{name: hf.Place{Param: g.param}.Name(p.opt.Scheme), shape: shape, fused: quant.Fused(g.param)}
	var units []unit
	for i := range fine {
		f := &fine[i]
		source := part{weight: g.weights[0]}
		if w, ok := of[f.Place]; ok {
			source.weight = w
		} else {
			source.from = f
		}
		if p.opt.Scheme == hf.Memory && f.Place.Expert >= 0 {
			source.to = f
			whole.parts = append(whole.parts, source)
			continue
		}
		units = append(units, unit{name: f.Place.Name(p.opt.Scheme), shape: f.Shape, fused: 1, parts: []part{source}})
	}
	if len(whole.parts) > 0 {
		units = []unit{whole}
	}
	for i := range units {
		if err := p.decide(&units[i], g); err != nil {
			return nil, err
		}
	}
	return units, nil
}

// decide sets the format of a unit. Numbers stay in the format they have, but for matrices that are to be BF16.
func (p *plan) decide(u *unit, g *group) error {
	w := g.weights[0]
	u.format, u.plain = p.opt.Recipe.Format(g.param), w.Type
	table := w.Type == dtype.I32 || w.Type == dtype.I64
	switch {
	case strings.HasSuffix(g.param, ".tid2eid") != table:
		return fmt.Errorf("tensor %q: is %v", w.Name, w.Type)
	case table:
	case w.Format == (quant.Format{}) && w.Type != dtype.F32 && w.Type != dtype.BF16:
		return fmt.Errorf("tensor %q: is %v, want F32 or BF16, or FP8 or FP4 with scales", w.Name, w.Type)
	case quant.Wide(g.param) && w.Format != (quant.Format{}):
		u.plain = dtype.F32
	case w.Format != (quant.Format{}), len(u.shape) > 1 && !quant.Wide(g.param):
		u.plain = dtype.BF16
	}
	if u.format == quant.FP4 && u.shape[len(u.shape)-1]%2 != 0 {
		return fmt.Errorf("tensor %q: is %v, want an even number of columns for FP4", w.Name, w.Shape)
	}
	if u.format != (quant.Format{}) && len(u.shape) < 2 {
		return fmt.Errorf("tensor %q: is %v, want a matrix", w.Name, w.Shape)
	}
	return nil
}

// gaps names layers that config.json promises and the source has nothing of.
func (p *plan) gaps() (errs []error) {
	have := map[string]bool{}
	for _, w := range p.survey.Weights {
		if rest, ok := strings.CutPrefix(w.Param, "model.layers."); ok {
			number, _, _ := strings.Cut(rest, ".")
			have[number] = true
		} else {
			have[w.Param] = true
		}
	}
	for i := range p.opt.Layers {
		if !have[fmt.Sprint(i)] {
			errs = append(errs, fmt.Errorf("layer %d: has no tensors", i))
		}
	}
	for _, name := range []string{"model.embed_tokens.weight", "lm_head.weight", "model.norm.weight"} {
		if !have[name] {
			errs = append(errs, fmt.Errorf("parameter %q: is missing", name))
		}
	}
	return errs
}

// identity returns a hash of all that the destination depends on; of the source's files it takes size and time.
func (p *plan) identity(from string) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "furlong conversion 1\n%s %v %d\n%s\n", p.opt.Recipe, p.opt.Scheme, p.opt.ShardBytes, p.config)
	list, err := os.ReadDir(from)
	if err != nil {
		return "", err
	}
	for _, e := range list {
		info, err := e.Info()
		if err != nil {
			return "", errors.Join(fmt.Errorf("%s: changes while it is read", from), err)
		}
		if info.Mode().IsRegular() {
			fmt.Fprintf(h, "%q %d %d\n", e.Name(), info.Size(), info.ModTime().UnixNano())
		}
	}
	for _, e := range p.entries {
		fmt.Fprintf(h, "%q %v\n", e.Name, e.Info)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// isTensors reports whether a file of the source is read as tensors or says where they are.
func isTensors(name string) bool {
	return strings.HasSuffix(name, ".safetensors") || strings.HasSuffix(name, ".safetensors.index.json")
}
