package hf

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"furlong/checkpoint"
	"furlong/checkpoint/safetensors"
	"furlong/quant"
	"furlong/tensor"
)

// LoadOptions say what a checkpoint's own tensors don't.
type LoadOptions struct {
	Layers  int    // of the model; the file's layers beyond are draft layers
	Experts int    // routed experts: what the entries of routing tables must stay below
	Scheme  Scheme // 0: see by the names
	Config  []byte // config.json, which must not contradict the tensors' formats; nil: that beside the tensors, if there is one

	// Each is called with each parameter when its Value is filled, in the parameters' order, and may then take the Value away: so a model that
	// does not fit in memory can be read. nil: nobody is called.
	Each func(p *tensor.Param) error
}

// complete sees by the names which scheme they are in.
func (o *LoadOptions) complete(src checkpoint.Source) (err error) {
	if o.Scheme == 0 {
		o.Scheme, err = DetectScheme(src.Names())
	}
	return err
}

// stated returns what config.json says, nil if there is none.
func (o *LoadOptions) stated() (*quant.Stated, error) {
	if o.Config == nil {
		return nil, nil
	}
	s, err := quant.ReadConfig(o.Config)
	if err != nil {
		return nil, err // nothing is held against half of what it says
	}
	return &s, nil
}

// Load fills every parameter's Value from a checkpoint: a directory, or one file. Parameters have names of
// the [Memory] scheme; their Values say which shape and format is wanted (F32, BF16 or F64, or quantised; I32 or I64 for
// routing tables). The checkpoint may be in any scheme and hold F32, BF16, and FP8 or FP4 with their scales; each tensor's own format
// decides how it is read, and [Convert] how it becomes what is wanted.
//
// When anything is missing, left over or unlike what is wanted, nothing is filled and the error lists all of
// it. Draft layers are the exception: they are set aside and reported. Layouts that backends derived from the
// Values must be derived again.
func Load(path string, params []*tensor.Param, opt LoadOptions) (*Report, error) {
	src, err := safetensors.OpenDir(path)
	if err != nil {
		return nil, err
	}
	if opt.Config == nil {
		if opt.Config, err = configBeside(path); err != nil {
			return nil, errors.Join(err, src.Close())
		}
	}
	r, err := LoadFrom(src, params, opt)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return r, errors.Join(err, src.Close())
}

// configBeside returns the config.json in a directory, nil if there is none.
func configBeside(dir string) ([]byte, error) {
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// LoadFrom is [Load] from a Source.
func LoadFrom(src checkpoint.Source, params []*tensor.Param, opt LoadOptions) (*Report, error) {
	if err := opt.complete(src); err != nil {
		return nil, err
	}
	stated, err := opt.stated()
	if err != nil {
		return nil, err
	}
	l := &loader{src: src, opt: opt, stated: stated, read: map[string]bool{}, report: &Report{Scheme: opt.Scheme}}
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
	stated *quant.Stated
	steps  []step
	read   map[string]bool // tensors that are spoken for
	errs   []error
	report *Report
}

// A step fills one run of a parameter's elements.
type step struct {
	param  *tensor.Param
	piece  Piece
	weight Weight
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
	var first Weight
	for i, piece := range pieces {
		if l.read[piece.Name] {
			l.bad(piece.Name, "is wanted twice, again by parameter %q", p.Name)
			continue
		}
		l.read[piece.Name] = true
		w := l.check(p, piece)
		if i == 0 {
			first = w
		} else if err := sameFormat(first, w); err != nil && first.Name != "" && w.Name != "" {
			l.bad(piece.Name, "%v", err)
		}
		l.steps = append(l.steps, step{p, piece, w})
	}
}

// check says what is wrong with a tensor that is wanted, and returns how it is stored: the zero Weight if that is not known.
func (l *loader) check(p *tensor.Param, piece Piece) (w Weight) {
	have, ok := l.src.Info(piece.Name)
	switch table := isTable(p.Value.Type); {
	case !ok:
		l.bad(piece.Name, "is missing, wanted for parameter %q", p.Name)
	case table != strings.HasSuffix(p.Name, tableLeaf):
		l.bad(piece.Name, "is wanted as %v by parameter %q", p.Value, p.Name)
	case table && !isTable(have.Type):
		l.bad(piece.Name, "is %v, want I64 or I32", have)
	case table && !slices.Equal(have.Shape, piece.Shape):
		l.bad(piece.Name, "is %v, want %v", have, piece.Shape)
	case table:
		l.checkTable(piece.Name)
		w = Weight{Name: piece.Name, Type: have.Type}
	default:
		w = l.checkNumbers(p, piece, have)
	}
	return w
}

// checkNumbers says what is wrong with a tensor that is no table.
func (l *loader) checkNumbers(p *tensor.Param, piece Piece, have checkpoint.Info) Weight {
	w, err := look(l.src, l.opt.Scheme, piece.Name, piece.Place)
	for _, name := range scaleNames(piece.Name) {
		if _, ok := l.src.Info(name); ok && isQuantised(have.Type) {
			l.read[name] = true // or it would be left over too
		}
	}
	if wrong := w.wants(have, piece.Shape); wrong != nil {
		err = wrong // which explains what else is wrong
	}
	switch {
	case err != nil:
	case !w.isNumbers():
		err = fmt.Errorf("is %v, want F32 or BF16, or FP8 or FP4 with scales", have)
	case len(piece.Shape) < 2 && p.Value.Quantised():
		err = fmt.Errorf("is %v, which can't be quantised", have)
	default:
		err = w.checkStated(l.stated, l.src)
	}
	if err != nil {
		l.bad(piece.Name, "%v", err)
		return Weight{}
	}
	return w
}

func (l *loader) checkTable(name string) {
	t, err := l.src.Tensor(name)
	if err != nil {
		l.errs = append(l.errs, err)
		return
	}
	if err := CheckTable(t, l.opt.Experts); err != nil {
		l.bad(name, "%v", err)
	}
}

// leftOver goes through the tensors that no parameter wants.
func (l *loader) leftOver() {
	for _, name := range l.src.Names() {
		switch {
		case l.read[name]:
		case IsDraft(name, l.opt.Layers):
			l.report.Aside = append(l.report.Aside, name)
		default:
			info, _ := l.src.Info(name)
			l.bad(name, "is %v, which the model has no place for", info)
		}
	}
}

// IsDraft reports whether a tensor belongs to the block that predicts further tokens.
func IsDraft(name string, layers int) bool {
	n, _, ok := splitLayer(name)
	return ok && n >= layers || strings.HasPrefix(strings.TrimPrefix(name, "model."), "mtp.")
}

func (l *loader) fill() error {
	for i, s := range l.steps {
		src, err := s.weight.Read(l.src)
		if err != nil {
			return err
		}
		way, loss := Convert(s.piece.Of(s.param.Value), src)
		l.report.add(s.piece.Name, src, way, loss.Changed)
		if l.opt.Each == nil || i+1 < len(l.steps) && l.steps[i+1].param == s.param {
			continue
		}
		if err := l.opt.Each(s.param); err != nil {
			return err
		}
	}
	return nil
}
