package quant

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/tensor"
)

// everyCode returns a weight of two blocks with all 256 codes in each.
func everyCode(scale dtype.Type) *tensor.Tensor {
	f := FP8
	f.Scale = scale
	q := f.New(1, 2, 512)
	q.Block = [2]int{2, 256}
	q.Scale = tensor.New(scale, 1, 2)
	for i := range q.Mem {
		q.Mem[i] = byte(i)
	}
	return q
}

// meant returns the numbers of a weight.
func meant(q *tensor.Tensor, t dtype.Type) *tensor.Tensor {
	w := tensor.New(t, q.Shape...)
	Unpack(w, q)
	return w
}

// sameNumbers reports whether two float32 tensors hold the same numbers, or NaN in the same places. Zeros are one number.
func sameNumbers(a, b *tensor.Tensor) bool {
	return slices.EqualFunc(a.F32(), b.F32(), func(x, y float32) bool { return x == y || x != x && y != y })
}

// Every code keeps its number under every scale that can double, NaN stays NaN, and zero loses its sign.
func TestFNUZKeepsNumbers(t *testing.T) {
	check := func(q *tensor.Tensor) {
		t.Helper()
		want, half, had := meant(q, dtype.F32), meant(q, dtype.BF16), q.Clone()
		if err := ToFNUZ(q); err != nil {
			t.Fatal(err)
		}
		if q.Type != dtype.E4M3FNUZ || !sameNumbers(meant(q, dtype.F32), want) {
			t.Errorf("scales %v become %v: numbers differ", had.Scale.Mem, q.Scale.Mem)
		}
		for i, b := range meant(q, dtype.BF16).BF16() {
			if w := half.BF16()[i]; b != w && w != 0x8000 && dtype.FromBF16(b) == dtype.FromBF16(b) {
				t.Errorf("code %#x is %#x in BF16, want %#x", i, b, w)
			}
		}
		if bytes.IndexByte(q.Mem[:256], 0x80) != 0x7f || q.Mem[0x80] != 0 || q.Mem[0xff] != 0x80 {
			t.Errorf("NaNs are % x and % x, negative zero is % x", q.Mem[0x7f], q.Mem[0xff], q.Mem[0x80])
		}
		for i, c := range q.Mem[:256] {
			if c&0x7f != 0 && c != byte(i) {
				t.Errorf("code %#x becomes %#x", i, c)
			}
		}
		if err := FromFNUZ(q); err != nil || !sameNumbers(meant(q, dtype.F32), want) || !bytes.Equal(q.Scale.Mem, had.Scale.Mem) {
			t.Errorf("there and back: %v, scales %v, want %v", err, q.Scale.Mem, had.Scale.Mem)
		}
	}
	for s := range uint8(254) {
		q := everyCode(dtype.E8M0)
		q.Scale.Mem[0], q.Scale.Mem[1] = s, dtype.NaNE8M0
		check(q)
	}
	for _, s := range []float32{1, 0.3, 1e-30, math.SmallestNonzeroFloat32, math.MaxFloat32 / 2, 0} {
		q := everyCode(dtype.F32)
		q.Scale.F32()[0], q.Scale.F32()[1] = s, float32(math.NaN())
		check(q)
	}
}

// A weight is turned once: again would double it in silence. What can't be turned is left as it is.
func TestFNUZRefuses(t *testing.T) {
	plain := func() *tensor.Tensor { return tensor.New(dtype.F32, 2, 2) }
	turned := func() *tensor.Tensor { return FP8FNUZ.New(1, 4, 8) }
	top := func() *tensor.Tensor { q := everyCode(dtype.E8M0); q.Scale.Mem[1] = 254; return q }
	large := func() *tensor.Tensor { q := everyCode(dtype.F32); q.Scale.F32()[1] = math.MaxFloat32; return q }
	bottom := func() *tensor.Tensor { return turned() } // scales 2^-127
	odd := func() *tensor.Tensor {
		q := Format{dtype.E4M3FNUZ, dtype.F32, WeightE4M3}.New(1, 4, 8)
		q.Scale.F32()[0] = math.SmallestNonzeroFloat32
		return q
	}
	most := func() *tensor.Tensor { q := turned(); q.Scale.Mem[0], q.Mem[5] = 9, 0xff; return q }
	for _, tt := range []struct {
		name string
		turn func(*tensor.Tensor) error
		make func() *tensor.Tensor
		want string
	}{
		{"twice", ToFNUZ, turned, "is FNUZ already: doubled again, it would mean twice as much"},
		{"numbers", ToFNUZ, plain, "has no scales"},
		{"FP4", ToFNUZ, func() *tensor.Tensor { return FP4.New(1, 4, 64) }, "is not F8_E4M3"},
		{"largest scale", ToFNUZ, top, "scale 1 is 2^127, and there is no 2^128"},
		{"largest float scale", ToFNUZ, large, "times that is no float32"},
		{"back from E4M3", FromFNUZ, func() *tensor.Tensor { return everyCode(dtype.E8M0) }, "is not F8_E4M3FNUZ"},
		{"smallest scale", FromFNUZ, bottom, "scale 0 is 2^-127, and there is no 2^-128"},
		{"smallest float scale", FromFNUZ, odd, "times that is no float32"},
		{"240", FromFNUZ, most, "code 5 is 0xff, -240, which is -480 at half the scale, want at most 448"},
	} {
		q := tt.make()
		had := q.Clone()
		err := tt.turn(q)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error is %v, want one with %q", tt.name, err, tt.want)
		}
		if q.Type != had.Type || !bytes.Equal(q.Mem, had.Mem) || q.Quantised() && !bytes.Equal(q.Scale.Mem, had.Scale.Mem) {
			t.Errorf("%s: the weight was changed", tt.name)
		}
	}
}

// A weight that is packed as FNUZ means what it means as E4M3: the devices of both flavours hold one policy.
func TestFNUZPacksTheSameNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, scale := range []dtype.Type{dtype.E8M0, dtype.F32} {
		f, g := FP8FNUZ, FP8
		f.Scale, g.Scale = scale, scale
		for _, shape := range [][]int{{1, 1}, {130, 260}, {3, 128, 128}, {2, 40, 136}} {
			w := tensor.New(dtype.F32, shape...)
			for i := range w.F32() {
				w.F32()[i] = float32(r.NormFloat64() * math.Exp2(float64(r.IntN(60)-40)))
			}
			if w.Len() > 200 {
				w.F32()[w.Len()-1], w.F32()[3] = float32(math.NaN()), float32(math.Copysign(0, -1))
			}
			q, p := f.New(1, shape...), g.New(1, shape...)
			Pack(q, w)
			Pack(p, w)
			if q.Type != dtype.E4M3FNUZ || !sameNumbers(meant(q, dtype.F32), meant(p, dtype.F32)) {
				t.Errorf("%v with %v scales: FNUZ packs other numbers than E4M3", shape, scale)
			}
			checkCodesFNUZ(t, q, w)
			again := f.New(1, shape...)
			Pack(again, meant(q, dtype.F32))
			if !sameNumbers(meant(again, dtype.F32), meant(q, dtype.F32)) && scale == dtype.E8M0 {
				t.Errorf("%v: packing again gives other numbers", shape)
			}
		}
	}
}

// checkCodesFNUZ holds codes under power-of-two scales against the codec of single numbers.
func checkCodesFNUZ(t *testing.T, q, w *tensor.Tensor) {
	t.Helper()
	if q.Scale.Type != dtype.E8M0 || len(q.Shape) != 2 {
		return
	}
	for i, c := range q.Mem {
		r, col := i/q.Shape[1], i%q.Shape[1]
		s := q.Scale.Mem[r/128*q.Scale.Shape[1]+col/128]
		want := dtype.ToE4M3FNUZSat(w.F32()[i] / dtype.FromE8M0(s))
		if s == dtype.NaNE8M0 {
			want = 0x80
		}
		if c != want {
			t.Fatalf("number %d, %v at scale %v, has code %#x, want %#x", i, w.F32()[i], dtype.FromE8M0(s), c, want)
		}
	}
}
