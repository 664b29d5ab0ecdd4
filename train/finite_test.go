package train

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"furlong/dtype"
	"furlong/tensor"
)

// put writes code into element i.
func put(t *tensor.Tensor, i int, code uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], code)
	copy(t.Mem[t.Type.Bytes(i):], b[:t.Type.Bytes(1)])
}

// TestFinite puts each code at every place of a tensor whose last bytes do not fill a word.
func TestFinite(t *testing.T) {
	for _, tt := range []struct {
		format dtype.Type
		code   uint64
		want   string
	}{
		{dtype.F32, 0x7f800000, "+Inf"},
		{dtype.F32, 0xff800000, "-Inf"},
		{dtype.F32, 0x7fc00000, "NaN"},
		{dtype.F32, 0xff800001, "NaN"},
		{dtype.F32, 0x7f7fffff, ""},
		{dtype.F32, 0xff7fffff, ""},
		{dtype.F32, 0x80000000, ""},
		{dtype.BF16, 0x7f80, "+Inf"},
		{dtype.BF16, 0xff80, "-Inf"},
		{dtype.BF16, 0xffff, "NaN"},
		{dtype.BF16, 0x7f7f, ""},
		{dtype.BF16, 0xff7f, ""},
		{dtype.F64, math.Float64bits(math.Inf(-1)), "-Inf"},
		{dtype.F64, math.Float64bits(math.NaN()), "NaN"},
		{dtype.F64, math.Float64bits(-math.MaxFloat64), ""},
		{dtype.E4M3, 0x7f, "NaN"},
		{dtype.E4M3, 0xff, "NaN"},
		{dtype.E4M3, 0xfe, ""},
		{dtype.E8M0, 0xff, "NaN"},
		{dtype.I64, math.MaxUint64, ""},
	} {
		for i := range 43 {
			x := tensor.New(tt.format, 43)
			put(x, i, tt.code)
			got, want := "", ""
			if tt.want != "" {
				want = fmt.Sprintf("tensor \"w\": element %d of %v is %s, want a finite number", i, x, tt.want)
			}
			if err := Finite([]*tensor.Param{{Name: "w", Value: x}}); err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("%v: code %#x: %q, want %q", tt.format, tt.code, got, want)
			}
		}
	}
}

func TestFiniteScales(t *testing.T) {
	q := tensor.NewQuantised(dtype.E2M1, dtype.E8M0, [2]int{1, 32}, 1, 2, 64)
	put(q.Scale, 3, 0xff)
	err := Finite([]*tensor.Param{{Name: "ok", Value: tensor.New(dtype.F32, 3)}, {Name: "w", Value: q}})
	want := `tensor "scales of w": element 3 of F8_E8M0[2 2] is NaN, want a finite number`
	if err == nil || err.Error() != want {
		t.Errorf("Finite = %v, want %s", err, want)
	}
}

func BenchmarkFinite(b *testing.B) {
	p := []*tensor.Param{{Name: "w", Value: tensor.New(dtype.BF16, 1<<20)}}
	b.SetBytes(int64(len(p[0].Value.Mem)))
	for b.Loop() {
		if err := Finite(p); err != nil {
			b.Fatal(err)
		}
	}
}
