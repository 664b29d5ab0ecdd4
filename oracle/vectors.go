package oracle

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"furlong/checkpoint/hf"
	"furlong/checkpoint/safetensors"
	"furlong/dtype"
	"furlong/model/dsv4"
	"furlong/tensor"
	"furlong/train"
)

// vectors is an open directory.
type vectors struct {
	dir    string
	cfg    dsv4.Config
	model  *safetensors.File // weights, float32
	oracle *safetensors.File
	meta   meta
	read   *sync.Map // names of vectors that something was compared with
}

// meta is the part of meta.json that the check reads.
type meta struct {
	ParamOrder []string `json:"param_order"`
	GradOrder  []string `json:"grad_order"`
}

func open(dir string) (*vectors, error) {
	v := &vectors{dir: dir, read: &sync.Map{}}
	raw, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil {
		return nil, err
	}
	if v.cfg, err = dsv4.ReadConfig(raw); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, "config.json"), err)
	}
	if raw, err = os.ReadFile(filepath.Join(dir, "meta.json")); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &v.meta); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, "meta.json"), err)
	}
	if v.model, err = safetensors.Open(filepath.Join(dir, "model.safetensors")); err != nil {
		return nil, err
	}
	if v.oracle, err = safetensors.Open(filepath.Join(dir, "oracle.safetensors")); err != nil {
		v.model.Close()
		return nil, err
	}
	if err := v.checkForm(); err != nil {
		v.close()
		return nil, err
	}
	return v, nil
}

func (v *vectors) close() {
	v.model.Close()
	v.oracle.Close()
}

// lengths returns the sequence lengths that have cases, ascending.
func (v *vectors) lengths() []int {
	var ns []int
	for _, name := range v.oracle.Names() {
		if t, ok := strings.CutSuffix(name, ".input_ids"); ok {
			if n, err := strconv.Atoi(strings.TrimPrefix(t, "T")); err == nil {
				ns = append(ns, n)
			}
		}
	}
	slices.SortFunc(ns, cmp.Compare[int])
	return ns
}

func (v *vectors) has(name string) bool {
	_, ok := v.oracle.Info(name)
	return ok
}

// f64 returns a vector of floats, widened.
func (v *vectors) f64(name string) ([]float64, error) {
	t, err := v.tensor(name)
	if err != nil {
		return nil, err
	}
	return widen(t), nil
}

// i32 returns a vector of integers.
func (v *vectors) i32(name string) ([]int32, error) {
	t, err := v.tensor(name)
	if err != nil {
		return nil, err
	}
	if t.Type != dtype.I32 {
		return nil, fmt.Errorf("%s: %s is %v, want I32", v.dir, name, t)
	}
	return slices.Clone(t.I32()), nil
}

func (v *vectors) tensor(name string) (*tensor.Tensor, error) {
	v.read.Store(name, true)
	return v.oracle.Tensor(name)
}

// unread returns the vectors that nothing was compared with. Empty ones have nothing to compare.
func (v *vectors) unread() []string {
	return slices.DeleteFunc(v.oracle.Names(), func(name string) bool {
		_, read := v.read.Load(name)
		info, _ := v.oracle.Info(name)
		return read || slices.Contains(info.Shape, 0)
	})
}

// widen returns the elements of any float tensor as float64.
func widen(t *tensor.Tensor) []float64 {
	switch t.Type {
	case dtype.F64:
		return t.F64()
	case dtype.F32:
		out := make([]float64, t.Len())
		for i, x := range t.F32() {
			out[i] = float64(x)
		}
		return out
	case dtype.BF16:
		out := make([]float64, t.Len())
		for i, x := range t.BF16() {
			out[i] = float64(dtype.FromBF16(x))
		}
		return out
	}
	panic(fmt.Sprintf("oracle: %v is not a float tensor", t))
}

// load fills a model of any float format with the directory's float32 weights.
func (v *vectors) load(m *dsv4.Model) error {
	for _, p := range m.Params() {
		t, err := v.model.Tensor(p.Name)
		if err != nil {
			return err
		}
		if !slices.Equal(t.Shape, p.Value.Shape) {
			return fmt.Errorf("%s: %s is %v, want shape %v", v.dir, p.Name, t, p.Value.Shape)
		}
		if err := assign(p.Value, t); err != nil {
			return fmt.Errorf("%s: %s: %w", v.dir, p.Name, err)
		}
		if p.Value.Type != dtype.I32 {
			continue
		}
		if err := hf.CheckTable(t, v.cfg.Experts); err != nil {
			return fmt.Errorf("%s: %s: %w", v.dir, p.Name, err)
		}
	}
	if got, want := len(v.model.Names()), len(m.Params()); got != want {
		return fmt.Errorf("%s: model.safetensors has %d tensors, the model %d", v.dir, got, want)
	}
	if err := train.Finite(m.Params()); err != nil {
		return fmt.Errorf("%s: model.safetensors: %w", v.dir, err)
	}
	return nil
}

func assign(dst, src *tensor.Tensor) error {
	switch {
	case dst.Type == src.Type:
		copy(dst.Mem, src.Mem)
	case dst.Type == dtype.F64 && src.Type == dtype.F32:
		copy(dst.F64(), widen(src))
	case dst.Type == dtype.I32 && src.Type == dtype.I64:
		for i, x := range src.I64() {
			dst.I32()[i] = int32(x)
		}
	default:
		return fmt.Errorf("is %v, want %v", src.Type, dst.Type)
	}
	return nil
}
