package hf

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"furlong/checkpoint"
	"furlong/checkpoint/safetensors"
	"furlong/dtype"
	"furlong/tensor"
)

// SaveOptions say how a checkpoint is cut.
type SaveOptions struct {
	Experts    int   // as in LoadOptions
	ShardBytes int64 // largest file, if tensors allow; 0: one file
}

// Save writes parameters (F32 or BF16; I32 or I64 for routing tables) and config.json as a directory in the layout of a scheme.
// Numbers are stored in the format they have; tables as I64, but as I32 in [Wire], as these layouts have it.
// The directory must not exist or be empty, and appears whole or not at all.
func Save(dir string, params []*tensor.Param, scheme Scheme, config []byte, opt SaveOptions) error {
	if !json.Valid(config) {
		return fmt.Errorf("%s: config.json of %d bytes is not JSON", dir, len(config))
	}
	steps, list, err := contents(params, scheme, opt.Experts)
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	w, err := safetensors.CreateDir(dir, list, map[string]string{"format": "pt"}, opt.ShardBytes)
	if err != nil {
		return err
	}
	if err := w.WriteFile("config.json", config); err != nil {
		return err
	}
	for i, s := range steps {
		if err := w.Write(s.piece.Name, stored(s, list[i].Type)); err != nil {
			return err
		}
	}
	return w.Close()
}

// contents returns the steps that write the parameters, and what they write.
func contents(params []*tensor.Param, scheme Scheme, experts int) (steps []step, list []checkpoint.Entry, err error) {
	var errs []error
	for _, p := range params {
		pieces, err := Pieces(scheme, p.Name, p.Value.Shape)
		errs = append(errs, err, checkSave(p, experts))
		for _, piece := range pieces {
			steps = append(steps, step{p.Value, piece})
			list = append(list, checkpoint.Entry{Name: piece.Name, Info: checkpoint.Info{Type: storedType(p.Value.Type, scheme), Shape: piece.Shape}})
		}
	}
	return steps, list, checkpoint.Join(errs)
}

// checkSave says what is wrong with a parameter that is to be saved.
func checkSave(p *tensor.Param, experts int) error {
	table := isTable(p.Value.Type)
	var err error
	switch {
	case table != strings.HasSuffix(p.Name, tableLeaf), !table && p.Value.Type != dtype.F32 && p.Value.Type != dtype.BF16:
		err = errors.New("is " + p.Value.String() + ", want F32 or BF16, and I64 or I32 for a routing table")
	case table:
		err = checkTable(p.Value, experts)
	}
	if err != nil {
		return fmt.Errorf("parameter %q: %w", p.Name, err)
	}
	return nil
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

// stored returns what a step writes: the parameter's own memory, or a converted table.
func stored(s step, t dtype.Type) *tensor.Tensor {
	x := s.piece.of(s.value)
	if x.Type == t {
		return x
	}
	y := tensor.New(t, x.Shape...)
	convert(y, x)
	return y
}
