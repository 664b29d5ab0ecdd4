package quant

import (
	"encoding/binary"
	"fmt"
	"math"

	"furlong/dtype"
	"furlong/tensor"
)

// A Check is how one family of reference vectors came out.
type Check struct {
	Name  string // of the tensor that holds the truth
	Count int    // numbers, codes or bytes compared
	Wrong int
	First string // the first that is wrong, in words
}

// Verify holds every codec and block rule against reference vectors: casts in both directions, scale bytes,
// packed matrices and products. read returns a tensor of the file by name. All must be equal bit for bit,
// but one NaN is as good as another, and products may differ by the order of their float64 sums. A Check
// with Wrong above 0 says where they are not.
func Verify(read func(name string) (*tensor.Tensor, error)) ([]Check, error) {
	v := &vectors{read: read}
	v.decoding()
	v.casting()
	v.scaling()
	v.edges()
	v.matrices()
	v.otherRules()
	v.products()
	return v.checks, v.err
}

// vectors compares until something can't be read.
type vectors struct {
	read   func(name string) (*tensor.Tensor, error)
	checks []Check
	err    error
}

func (v *vectors) decoding() {
	v.numbers("e4m3.decode", table(256, dtype.FromE4M3))
	v.numbers("e8m0.decode", table(256, dtype.FromE8M0))
	v.numbers("e2m1.decode", table(16, dtype.FromE2M1))
}

func table(n int, decode func(uint8) float32) []float32 {
	t := make([]float32, n)
	for i := range t {
		t[i] = decode(uint8(i))
	}
	return t
}

func (v *vectors) casting() {
	x := v.floats("e4m3.cast_in")
	v.bytes("e4m3.cast_bytes", each(x, dtype.ToE4M3))
	v.bytes("e4m3.cast_sat_bytes", each(x, dtype.ToE4M3Sat))
	v.bytes("e2m1.cast_codes", each(v.floats("e2m1.cast_in"), dtype.ToE2M1))
	v.bf16("bf16.cast_bits", v.floats("bf16.cast_in"))
}

func (v *vectors) scaling() {
	amax := v.floats("scale.amax")
	v.bytes("scale.fp8_byte", each(amax, UpE4M3))
	v.bytes("scale.fp4_byte", each(amax, UpE2M1))
}

func each(x []float32, f func(float32) uint8) []byte {
	b := make([]byte, len(x))
	for i := range x {
		b[i] = f(x[i])
	}
	return b
}

func (v *vectors) edges() {
	if x := v.get("edge.x", dtype.F32); x != nil {
		v.packed("edge.fp8", "bytes", x, activations)
		v.packed("edge.fp4", "packed", x, FP4)
	}
}

func (v *vectors) matrices() {
	w, x := v.get("w", dtype.F32), v.get("x", dtype.F32)
	if v.err != nil {
		return
	}
	v.packed("fp8.w", "bytes", w, FP8)
	v.packed("fp8.x", "bytes", x, activations)
	v.packed("fp4.w", "packed", w, FP4)
}

// packed packs x and compares codes, scales and what they unpack to; the family's names begin with prefix.
func (v *vectors) packed(prefix, codesName string, x *tensor.Tensor, f Format) {
	q := packed(x, f)
	v.bytes(prefix+"_"+codesName, q.Mem)
	v.bytes(prefix+"_scale", q.Scale.Mem)
	v.numbers(prefix+"_deq", unpacked(q).F32())
}

// activations is how activations are rounded.
var activations = Format{dtype.E4M3, dtype.E8M0, ActivationE4M3}

func packed(x *tensor.Tensor, f Format) *tensor.Tensor {
	q := f.New(1, x.Shape...)
	Pack(q, x)
	return q
}

func unpacked(q *tensor.Tensor) *tensor.Tensor {
	x := tensor.New(dtype.F32, q.Shape...)
	Unpack(x, q)
	return x
}

// rounded returns what is left of x after packing.
func rounded(x *tensor.Tensor, f Format) *tensor.Tensor { return unpacked(packed(x, f)) }

// otherRules are the conventions that are easily taken for ours.
func (v *vectors) otherRules() {
	w := v.get("w", dtype.F32)
	if v.err != nil {
		return
	}
	q := packed(w, Format{dtype.E4M3, dtype.F32, WeightE4M3})
	v.bytes("fp8f32.w_bytes", q.Mem)
	v.numbers("fp8f32.w_scale", q.Scale.F32())

	q = FP4.New(1, w.Shape...)
	PackBy(DownE2M1, q, w)
	v.bytes("mx_floor.w_packed", q.Mem)
	v.bytes("mx_floor.w_scale", q.Scale.Mem)

	q = packed(rounded(w, FP4), FP8)
	v.bytes("fp4_to_fp8.w_bytes", q.Mem)
	v.bytes("fp4_to_fp8.w_scale", q.Scale.Mem)
}

func (v *vectors) products() {
	w, x := v.get("w", dtype.F32), v.get("x", dtype.F32)
	if v.err != nil {
		return
	}
	x8 := rounded(x, activations)
	w8 := rounded(w, FP8)
	w4 := rounded(w, FP4)
	v.doubles("y.exact", product(x, w))
	v.doubles("y.fp8_x_fp8_w", product(x8, w8))
	v.doubles("y.fp32_x_fp8_w", product(x, w8))
	v.doubles("y.fp8_x_fp4_w", product(x8, w4))
}

// product returns x times w transposed, summed from left to right in float64.
func product(x, w *tensor.Tensor) []float64 {
	n, k := w.Shape[0], w.Shape[1]
	y := make([]float64, x.Rows()*n)
	for i := range y {
		a, b := x.F32()[i/n*k:][:k], w.F32()[i%n*k:][:k]
		for j := range a {
			y[i] += float64(a[j]) * float64(b[j])
		}
	}
	return y
}

// get returns a tensor of the wanted format, or nil once something is wrong.
func (v *vectors) get(name string, want dtype.Type) *tensor.Tensor {
	if v.err != nil {
		return nil
	}
	t, err := v.read(name)
	if err == nil && t.Type != want {
		err = fmt.Errorf("%s: is %v, want %v", name, t, want)
	}
	if v.err = err; err != nil {
		return nil
	}
	return t
}

func (v *vectors) floats(name string) []float32 {
	if t := v.get(name, dtype.F32); t != nil {
		return t.F32()
	}
	return nil
}

func (v *vectors) bytes(name string, got []byte) {
	if t := v.get(name, dtype.U8); t != nil {
		compare(v, name, got, t.Mem, func(a, b byte) bool { return a == b })
	}
}

func (v *vectors) numbers(name string, got []float32) {
	if want := v.floats(name); v.err == nil {
		compare(v, name, got, want, func(a, b float32) bool {
			return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
		})
	}
}

// sumError covers 224 float64 sums of terms of order 1 in any order; the FP8 products are exact in every order.
const sumError = 1e-13

func (v *vectors) doubles(name string, got []float64) {
	if t := v.get(name, dtype.F64); t != nil {
		compare(v, name, got, t.F64(), func(a, b float64) bool { return math.Abs(a-b) <= sumError*max(1, math.Abs(b)) })
	}
}

func (v *vectors) bf16(name string, x []float32) {
	t := v.get(name, dtype.I16)
	if t == nil {
		return
	}
	got, want := make([]uint16, len(x)), make([]uint16, len(t.Mem)/2)
	for i := range x {
		got[i] = dtype.ToBF16(x[i])
	}
	for i := range want {
		want[i] = binary.LittleEndian.Uint16(t.Mem[2*i:])
	}
	compare(v, name, got, want, func(a, b uint16) bool {
		return a == b || dtype.FromBF16(a) != dtype.FromBF16(a) && dtype.FromBF16(b) != dtype.FromBF16(b)
	})
}

// compare adds a Check.
func compare[E any](v *vectors, name string, got, want []E, same func(a, b E) bool) {
	c := Check{Name: name, Count: len(want)}
	if len(got) != len(want) {
		c.Wrong, c.First = len(want), fmt.Sprintf("%d elements, want %d", len(got), len(want))
		got = nil
	}
	for i := range got {
		if !same(got[i], want[i]) {
			if c.Wrong++; c.Wrong == 1 {
				c.First = fmt.Sprintf("element %d is %v, want %v", i, got[i], want[i])
			}
		}
	}
	v.checks = append(v.checks, c)
}
