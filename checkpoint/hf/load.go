package hf

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"furlong/checkpoint"
	"furlong/checkpoint/safetensors"
	"furlong/dtype"
	"furlong/tensor"
)

// LoadOptions say what a checkpoint's own tensors don't.
type LoadOptions struct {
	Layers  int    // of the model; the file's layers beyond are draft layers
	Experts int    // routed experts: what the entries of routing tables must stay below
	Scheme  Scheme // 0: see by the names
}

// Load fills every parameter's Value from a checkpoint: a directory, or one file. Parameters have names of
// the [Memory] scheme; their Values say which shape and format is wanted (F32, BF16 or F64; I32 or I64 for
// routing tables). The checkpoint may be in any scheme and hold F32 or BF16.
//
// When anything is missing, left over or unlike what is wanted, nothing is filled and the error lists all of
// it. Draft layers are the exception: they are set aside and reported. Layouts that backends derived from the
// Values must be derived again.
func Load(path string, params []*tensor.Param, opt LoadOptions) (*Report, error) {
	src, err := safetensors.OpenDir(path)
	if err != nil {
		return nil, err
	}
	r, err := LoadFrom(src, params, opt)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return r, errors.Join(err, src.Close())
}

// LoadFrom is [Load] from a Source.
func LoadFrom(src checkpoint.Source, params []*tensor.Param, opt LoadOptions) (*Report, error) {
	if opt.Scheme == 0 {
		s, err := DetectScheme(src.Names())
		if err != nil {
			return nil, err
		}
		opt.Scheme = s
	}
	l := &loader{src: src, opt: opt, read: map[string]bool{}, report: &Report{Scheme: opt.Scheme}}
	for _, p := range params {
		l.plan(p)
	}
	l.leftOver()
	if len(l.errs) > 0 {
		return nil, checkpoint.Join(l.errs)
	}
	return l.report, l.fill()
}

// A loader plans first, collecting complaints, and fills when there are none.
type loader struct {
	src    checkpoint.Source
	opt    LoadOptions
	steps  []step
	read   map[string]bool // tensors that are spoken for
	errs   []error
	report *Report
}

// A step fills one run of a parameter's elements.
type step struct {
	value *tensor.Tensor
	piece Piece
}

func (l *loader) bad(name, format string, args ...any) {
	l.errs = append(l.errs, fmt.Errorf("tensor %q: %s", name, fmt.Sprintf(format, args...)))
}

// plan adds the steps for a parameter.
func (l *loader) plan(p *tensor.Param) {
	if n, _, ok := splitLayer(p.Name); ok && n >= l.opt.Layers {
		l.errs = append(l.errs, fmt.Errorf("parameter %q: is in layer %d of a model said to have %d", p.Name, n, l.opt.Layers))
		return
	}
	pieces, err := Pieces(l.opt.Scheme, p.Name, p.Value.Shape)
	if err != nil {
		l.errs = append(l.errs, err)
		return
	}
	for _, piece := range pieces {
		if l.read[piece.Name] {
			l.bad(piece.Name, "is wanted twice, again by parameter %q", p.Name)
			continue
		}
		l.read[piece.Name] = true
		l.check(p, piece)
		l.steps = append(l.steps, step{p.Value, piece})
	}
}

// check says what is wrong with a tensor that is wanted.
func (l *loader) check(p *tensor.Param, piece Piece) {
	have, ok := l.src.Info(piece.Name)
	switch table := isTable(p.Value.Type); {
	case !ok:
		l.bad(piece.Name, "is missing, wanted for parameter %q", p.Name)
	case table != strings.HasSuffix(p.Name, tableLeaf):
		l.bad(piece.Name, "is wanted as %v by parameter %q", p.Value, p.Name)
	case !table && isQuantised(have.Type):
		l.quantised(piece.Name, have)
	case !slices.Equal(have.Shape, piece.Shape):
		l.bad(piece.Name, "is %v, want %v", have, piece.Shape)
	case table && !isTable(have.Type):
		l.bad(piece.Name, "is %v, want I64 or I32", have)
	case !table && have.Type != dtype.F32 && have.Type != dtype.BF16:
		l.bad(piece.Name, "is %v, want F32 or BF16", have)
	case table:
		l.checkTable(piece.Name)
	}
}

func (l *loader) checkTable(name string) {
	t, err := l.src.Tensor(name)
	if err != nil {
		l.errs = append(l.errs, err)
		return
	}
	if err := checkTable(t, l.opt.Experts); err != nil {
		l.bad(name, "%v", err)
	}
}

// leftOver goes through the tensors that no parameter wants.
func (l *loader) leftOver() {
	for _, name := range l.src.Names() {
		switch {
		case l.read[name]:
		case isDraft(name, l.opt.Layers):
			l.report.Aside = append(l.report.Aside, name)
		default:
			info, _ := l.src.Info(name)
			l.bad(name, "is %v, which the model has no place for", info)
		}
	}
}

// isDraft reports whether a tensor belongs to the block that predicts further tokens.
func isDraft(name string, layers int) bool {
	n, _, ok := splitLayer(name)
	return ok && n >= layers || strings.HasPrefix(strings.TrimPrefix(name, "model."), "mtp.")
}

func (l *loader) fill() error {
	for _, s := range l.steps {
		src, err := l.src.Tensor(s.piece.Name)
		if err != nil {
			return err
		}
		n := convert(s.piece.of(s.value), src)
		l.report.add(s.piece.Name, src, n)
	}
	return nil
}

// of returns the piece's run of a parameter's value, over the same memory.
func (p Piece) of(value *tensor.Tensor) *tensor.Tensor {
	n := 1
	for _, s := range p.Shape {
		n *= s
	}
	lo, hi := value.Type.Bytes(p.Lo), value.Type.Bytes(p.Lo+n)
	return &tensor.Tensor{Type: value.Type, Shape: p.Shape, Mem: value.Mem[lo:hi:hi]}
}
