package hf

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"furlong/checkpoint"
	"furlong/checkpoint/safetensors"
	"furlong/dtype"
	"furlong/quant"
	"furlong/tensor"
)

// SaveOptions say how a checkpoint is cut.
type SaveOptions struct {
	Experts    int   // as in LoadOptions
	ShardBytes int64 // largest file, if tensors allow; 0: one file
}

// Save writes parameters (F32 or BF16, or quantised; I32 or I64 for routing tables) and config.json as a directory in the layout of a
// scheme. Numbers and codes are stored in the format they have, FP4 codes as bytes typed I8; tables as I64, but as I32 in [Wire], as
// these layouts have it. What config says of quantisation is made to say what is there.
// The directory must not exist or be empty, and appears whole or not at all.
func Save(dir string, params []*tensor.Param, scheme Scheme, config []byte, opt SaveOptions) error {
	if !json.Valid(config) {
		return fmt.Errorf("%s: config.json of %d bytes is not JSON", dir, len(config))
	}
	tensors, err := contents(params, scheme, opt.Experts)
	if err == nil {
		config, err = stateFormats(config, params, scheme)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	w, err := safetensors.CreateDir(dir, entriesOf(tensors), map[string]string{"format": "pt"}, opt.ShardBytes)
	if err != nil {
		return err
	}
	if err := w.WriteFile("config.json", config); err != nil {
		return err
	}
	for _, t := range tensors {
		if err := w.Write(t.Name, t.Tensor); err != nil {
			return err
		}
	}
	return w.Close()
}

// A Named is a tensor of a checkpoint.
type Named struct {
	Name string
	*tensor.Tensor
}

// Tensors returns what a parameter is in a scheme: numbers; or codes, each with its scales after it. They are over the parameter's own
// memory, but for routing tables that the scheme keeps in another format.
func Tensors(s Scheme, p *tensor.Param) ([]Named, error) {
	pieces, err := Pieces(s, p.Name, p.Value.Shape)
	if err != nil {
		return nil, err
	}
	var list []Named
	for _, piece := range pieces {
		list = append(list, Stored(s, piece.Name, piece.Of(p.Value))...)
	}
	return list, nil
}

// Stored returns a weight that a scheme calls name as its files have it.
func Stored(s Scheme, name string, t *tensor.Tensor) []Named {
	if !t.Quantised() {
		return []Named{{name, stored(t, storedType(t.Type, s))}}
	}
	codes := &tensor.Tensor{Type: t.Type, Shape: t.Shape, Mem: t.Mem}
	if t.Type == dtype.E2M1 {
		codes.Type, codes.Shape = dtype.I8, slices.Clone(t.Shape)
		codes.Shape[len(t.Shape)-1] /= 2
	}
	return []Named{{name, codes}, {scaleName(s, name), t.Scale}}
}

// contents returns what the parameters are in files.
func contents(params []*tensor.Param, scheme Scheme, experts int) (list []Named, err error) {
	var errs []error
	for _, p := range params {
		if err := checkSave(p, experts); err != nil {
			errs = append(errs, err)
			continue
		}
		t, err := Tensors(scheme, p)
		list, errs = append(list, t...), append(errs, err)
	}
	return list, checkpoint.Join(errs)
}

// Announce returns what [Stored] makes of a weight, of which only format and shape are looked at.
func Announce(s Scheme, name string, like *tensor.Tensor) []checkpoint.Entry {
	if isTable(like.Type) {
		return []checkpoint.Entry{{Name: name, Info: checkpoint.Info{Type: storedType(like.Type, s), Shape: like.Shape}}}
	}
	return entriesOf(Stored(s, name, like))
}

func entriesOf(tensors []Named) []checkpoint.Entry {
	list := make([]checkpoint.Entry, len(tensors))
	for i, t := range tensors {
		list[i] = checkpoint.Entry{Name: t.Name, Info: checkpoint.InfoOf(t.Tensor)}
	}
	return list
}

// checkSave says what is wrong with a parameter that is to be saved.
func checkSave(p *tensor.Param, experts int) error {
	table := isTable(p.Value.Type)
	var err error
	switch {
	case p.Value.Quantised() && (quant.FormatOf(p.Value) != fileFormat(p.Value) || p.Value.Fused != quant.Fused(p.Name)):
		err = fmt.Errorf("is %v, %d fused, which no file holds: want %v or %v, %d fused", quant.FormatOf(p.Value), p.Value.Fused, quant.FP8, quant.FP4, quant.Fused(p.Name))
	case p.Value.Quantised() && !quant.Quantises(p.Name):
		err = fmt.Errorf("is %v, and no recipe quantises it", p.Value)
	case p.Value.Quantised():
	case table != strings.HasSuffix(p.Name, tableLeaf), !table && p.Value.Type != dtype.F32 && p.Value.Type != dtype.BF16:
		err = errors.New("is " + p.Value.String() + ", want F32 or BF16 or quantised, and I64 or I32 for a routing table")
	case table:
		err = CheckTable(p.Value, experts)
	}
	if err != nil {
		return fmt.Errorf("parameter %q: %w", p.Name, err)
	}
	return nil
}

// fileFormat returns the format that files have for the codes of t.
func fileFormat(t *tensor.Tensor) quant.Format {
	if t.Type == dtype.E2M1 {
		return quant.FP4
	}
	f := quant.FP8
	f.Scale = t.Scale.Type
	return f
}

// storedType returns the format in which a scheme keeps numbers of format t.
func storedType(t dtype.Type, s Scheme) dtype.Type {
	switch {
	case !isTable(t):
		return t
	case s == Wire:
		return dtype.I32
	}
	return dtype.I64
}

// stored returns numbers in a format: x itself, or a converted table.
func stored(x *tensor.Tensor, t dtype.Type) *tensor.Tensor {
	if x.Type == t {
		return x
	}
	y := tensor.New(t, x.Shape...)
	convert(y, x)
	return y
}

// stateFormats returns config.json with what it must say of the parameters' formats.
func stateFormats(config []byte, params []*tensor.Param, s Scheme) ([]byte, error) {
	r, err := quant.Deduce(func(yield func(string, quant.Format) bool) {
		for _, p := range params {
			if !yield(p.Name, quant.FormatOf(p.Value)) {
				return
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("no config.json says this: %w", err)
	}
	var plain []string
	for _, p := range params {
		if len(p.Value.Shape) >= 2 && !p.Value.Quantised() {
			plain = append(plain, p.Name)
		}
	}
	return r.WriteConfig(config, Modules(s, plain))
}

// Modules returns what a scheme calls the modules of parameters, without the numbers of layers and experts: each once, in order.
func Modules(s Scheme, params []string) []string {
	var list []string
	for i, name := range params {
		name = Place{Param: name}.Name(s)
		if _, leaf, ok := splitLayer(name); ok {
			name = leaf
		}
		switch module, ok := strings.CutSuffix(name, ".weight"); {
		case quant.IsExpert(params[i]):
			list = append(list, name[:strings.Index(name, ".experts")+len(".experts")])
		case ok:
			list = append(list, module)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
