package hf

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"furlong/checkpoint"
	"furlong/dtype"
	"furlong/quant"
	"furlong/tensor"
)

// A Weight is a tensor of a checkpoint as what it means: numbers of a shape, stored as such or as codes with scales.
type Weight struct {
	Place
	Name, Scale string       // of the tensor, and of its scales if it is quantised
	Type        dtype.Type   // of the tensor in the file
	Format      quant.Format // the zero Format if it is not quantised
	Shape       []int        // in numbers, which FP4 packs two a byte
	Fused       int          // matrices in it that have blocks of their own
}

// isNumbers reports whether a weight is of a format that parameters which are no routing tables are read from.
func (w Weight) isNumbers() bool {
	return w.Format != quant.Format{} || w.Type == dtype.F32 || w.Type == dtype.BF16
}

// isQuantised reports whether a weight of the format needs a scale tensor. FP4 codes are typed I8 or U8 by those who
// write them, two a byte.
func isQuantised(t dtype.Type) bool {
	switch t {
	case dtype.E4M3, dtype.E4M3FNUZ, dtype.E2M1, dtype.I8, dtype.U8:
		return true
	}
	return false
}

// scaleNames are what the scale of a weight is called, exactly: X.scale or X.weight_scale_inv, beside X.weight.
// Looking for a part of a name would take hc_attn_scale, which is a parameter, for one.
func scaleNames(weight string) []string {
	return []string{strings.TrimSuffix(weight, ".weight") + ".scale", weight + "_scale_inv"}
}

// scaleName is what a scheme calls the scale of a weight that it calls name.
func scaleName(s Scheme, name string) string {
	if s == Ref || s == Hybrid {
		return scaleNames(name)[0]
	}
	return scaleNames(name)[1]
}

// look finds out how a tensor is stored. It reads scales, but no codes.
func look(src checkpoint.Source, s Scheme, name string, place Place) (Weight, error) {
	info, ok := src.Info(name)
	if !ok {
		return Weight{}, errors.New("is missing")
	}
	w := Weight{Place: place, Name: name, Type: info.Type, Shape: info.Shape, Fused: place.fusedIn(s)}
	switch {
	case info.Type == dtype.E4M3FNUZ:
		return w, fmt.Errorf("is %v, want F8_E4M3: the same byte means half as much there", info)
	case !isQuantised(info.Type):
		return w, nil
	case len(info.Shape) < 2:
		return w, fmt.Errorf("is %v, want a matrix to be quantised", info)
	case info.Type == dtype.E4M3:
		w.Format = quant.FP8
	default:
		w.Format = quant.FP4
	}
	if info.Type == dtype.I8 || info.Type == dtype.U8 {
		w.Shape = slices.Clone(info.Shape)
		w.Shape[len(w.Shape)-1] *= 2
	}
	if n := len(w.Shape); w.Shape[n-2]%w.Fused != 0 {
		return w, fmt.Errorf("is %v, want %d matrices of one size below each other", info, w.Fused)
	}
	return w, w.findScale(src, info)
}

// findScale finds the scales and checks that they fit and mean something.
func (w *Weight) findScale(src checkpoint.Source, info checkpoint.Info) error {
	var found []string
	names := scaleNames(w.Name)
	for _, n := range names {
		if _, ok := src.Info(n); ok {
			found = append(found, n)
		}
	}
	switch len(found) {
	case 0:
		return fmt.Errorf("is %v, and its scale is missing: neither %q nor %q", info, names[0], names[1])
	case 2:
		return fmt.Errorf("is %v, and has two scales, %q and %q: which one is it?", info, names[0], names[1])
	}
	w.Scale = found[0]
	if err := w.checkScale(src); err != nil {
		return fmt.Errorf("is %v, and its scale %q %w", info, w.Scale, err)
	}
	return nil
}

func (w *Weight) checkScale(src checkpoint.Source) error {
	have, _ := src.Info(w.Scale)
	want := w.Format.Grid(w.Fused, w.Shape...)
	switch {
	case have.Type != dtype.E8M0 && (have.Type != dtype.F32 || w.Format.Code != dtype.E4M3):
		return fmt.Errorf("is %v, want F8_E8M0%s", have, map[bool]string{true: " or F32"}[w.Format.Code == dtype.E4M3])
	case !slices.Equal(have.Shape, want):
		return fmt.Errorf("is %v, want %v for blocks of %dx%d", have, want, w.Format.Block.Rows, w.Format.Block.Cols)
	}
	w.Format.Scale = have.Type
	s, err := src.Tensor(w.Scale)
	if err != nil {
		return err
	}
	return CheckScales(s)
}

// CheckScales refuses scales that no writer means.
func CheckScales(s *tensor.Tensor) error {
	if s.Type == dtype.E8M0 {
		if i := bytes.IndexByte(s.Mem, dtype.NaNE8M0); i >= 0 {
			return fmt.Errorf("has the code 255, no number, at %d", i)
		}
		return nil
	}
	for i, x := range s.F32() {
		if !(x >= 0) || math.IsInf(float64(x), 0) {
			return fmt.Errorf("has %v at %d, want a number that is not negative", x, i)
		}
	}
	return nil
}

// powersOfTwo reports whether E8M0 can hold all scales.
func powersOfTwo(s *tensor.Tensor) bool {
	return s.Type == dtype.E8M0 || !slices.ContainsFunc(s.F32(), func(x float32) bool { return !isPower(x) })
}

func isPower(x float32) bool {
	fraction, _ := math.Frexp(float64(x))
	return fraction == .5 && x >= 0x1p-127
}

// Read returns the weight over the checkpoint's own memory: not to be written, and gone when the checkpoint is closed.
func (w Weight) Read(src checkpoint.Source) (*tensor.Tensor, error) {
	t, err := src.Tensor(w.Name)
	if err != nil || w.Scale == "" {
		return t, err
	}
	scale, err := src.Tensor(w.Scale)
	if err != nil {
		return nil, err
	}
	return &tensor.Tensor{
		Type: w.Format.Code, Shape: w.Shape, Mem: t.Mem,
		Scale: scale, Block: [2]int{w.Format.Block.Rows, w.Format.Block.Cols}, Fused: w.Fused,
	}, nil
}

// wants says in what the weight, which is have, is not of a shape.
func (w Weight) wants(have checkpoint.Info, shape []int) error {
	pairs := w.Type == dtype.I8 || w.Type == dtype.U8
	switch {
	case slices.Equal(w.Shape, shape):
		return nil
	case pairs && slices.Equal(have.Shape, shape):
		return fmt.Errorf("is %v: codes of eight bits are tagged F8_E4M3; %v holds FP4, two codes a byte", have, have.Type)
	case pairs:
		return fmt.Errorf("is %v, FP4 of %v, want %v", have, w.Shape, shape)
	}
	return fmt.Errorf("is %v, want %v", have, shape)
}

// checkStated says in what the weight contradicts config.json.
func (w Weight) checkStated(s *quant.Stated, src checkpoint.Source) error {
	if s == nil {
		return nil
	}
	if err := s.Check(w.Name, w.Format, quant.IsExpert(w.Param), !quant.Quantises(w.Param)); err != nil {
		return err
	}
	if w.Format.Scale != dtype.F32 || s.Scale != dtype.E8M0 {
		return nil
	}
	scale, err := src.Tensor(w.Scale)
	if err == nil && !powersOfTwo(scale) {
		err = fmt.Errorf("has scales that are no powers of two in %q, but scale_fmt is ue8m0", w.Scale)
	}
	return err
}
