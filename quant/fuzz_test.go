package quant

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"furlong/dtype"
	"furlong/tensor"
)

// numbers returns the numbers of any input as a matrix of so many columns, filled up with zeros.
func numbers(data []byte, cols int) *tensor.Tensor {
	rows := max(1, ceil(len(data)/4, cols))
	x := tensor.New(dtype.F32, rows, cols)
	for i := range len(data) / 4 {
		x.F32()[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return x
}

func seeds(f *testing.F) {
	for i := range 3 {
		f.Add(random(uint64(i), 5, 14).Mem, uint8(i))
	}
	f.Add(tensor.Of([]float32{448, 0x1p-149, float32(math.Inf(-1)), 0x1.fffffep127, -0x1p-126, 224, 6, 3}, 8).Mem, uint8(4))
}

// Codes and scales are as defined, whatever the numbers; and each is the nearest that its format has under its block's scale.
func FuzzPack(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte, which uint8) {
		format := formats[int(which)%len(formats)]
		w := numbers(data, 14)
		got, want := dirty(format.New(1, w.Shape...)), format.New(1, w.Shape...)
		rule := rulesOf(format)[0].rule
		plainly(want, w, rule)
		Pack(got, w)
		bad := false
		for _, x := range w.F32() {
			bad = bad || math.IsNaN(float64(x)) || math.IsInf(float64(x), 0)
		}
		if !bad && !(bytes.Equal(got.Mem, want.Mem) && bytes.Equal(got.Scale.Mem, want.Scale.Mem)) {
			t.Fatalf("%v: codes or scales of %v are not as defined", format, w.F32())
		}
		checkNearest(t, w, got)
	})
}

// checkNearest holds each number against the codes beside its own.
func checkNearest(t *testing.T, w, q *tensor.Tensor) {
	f := frameOf(q)
	for k, x := range w.F32() {
		s := scaleAt(q, k/f.cols/f.block.Rows*f.wide+k%f.cols/f.block.Cols)
		mine := float64(codeAt(q, k)) * float64(s)
		if s != s {
			if mine == mine {
				t.Fatalf("element %d under the scale NaN is %v", k, mine)
			}
			continue
		}
		if q.Scale.Type == dtype.F32 {
			continue // x/s is rounded before the code is chosen
		}
		for c := range 256 {
			other := dtype.FromE4M3(uint8(c))
			if q.Type == dtype.E2M1 {
				other = dtype.FromE2M1(uint8(c))
			}
			if math.Abs(float64(other)*float64(s)-float64(x)) < math.Abs(mine-float64(x)) {
				t.Fatalf("%v becomes %v under %v, but %v is nearer", x, mine, s, other*s)
			}
		}
	}
}

// What was unpacked is packed again to the same numbers, and to the same bytes where the largest code of a block is in the upper
// binade: then the scale is the same, and so is everything under it.
func FuzzPackAgain(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte, which uint8) {
		format := []Format{FP8, FP4, activations}[which%3]
		once := packed(numbers(data, 14), format)
		x := unpacked(once)
		if slices.ContainsFunc(x.F32(), func(v float32) bool { return math.IsInf(float64(v), 0) }) {
			return // the largest numbers of float32 round up to one that it doesn't have
		}
		twice := packed(x, format)
		y := unpacked(twice)
		for i, v := range x.F32() {
			if v != y.F32()[i] && (v == v || y.F32()[i] == y.F32()[i]) {
				t.Fatalf("%v: %v becomes %v when it is packed again", format, v, y.F32()[i])
			}
		}
		if bytes.Equal(once.Scale.Mem, twice.Scale.Mem) && !bytes.Equal(once.Mem, twice.Mem) {
			t.Fatalf("%v: equal scales, other codes: % x and % x", format, once.Mem, twice.Mem)
		}
		for i, s := range once.Scale.Mem {
			if d := int(s) - int(twice.Scale.Mem[i]); d != 0 && d != 1 {
				t.Fatalf("%v: scale %d is %d, then %d", format, i, s, twice.Scale.Mem[i])
			}
		}
	})
}

// A recast keeps every number of every block that it does not count.
func FuzzRecast(f *testing.F) {
	f.Add([]byte{0x12, 0x7f, 0x80}, []byte{120, 121, 119})
	f.Add([]byte{0x01, 0x77}, []byte{100, 114, 115, 0, 254})
	f.Add([]byte{0x10}, []byte{1, 255})
	f.Fuzz(func(t *testing.T, codes, scales []byte) {
		if len(codes) == 0 || len(scales) == 0 {
			return
		}
		src, dst := FP4.New(2, 2, 6, 200), dirty(FP8.New(2, 2, 6, 200))
		for i := range src.Mem {
			src.Mem[i] = codes[i%len(codes)]
		}
		for i := range src.Scale.Mem {
			src.Scale.Mem[i] = scales[i%len(scales)]
		}
		spoiled := Recast(dst, src)
		if got := spoiledBlocks(src, dst); got != spoiled {
			t.Fatalf("%d blocks differ, %d are counted", got, spoiled)
		}
	})
}

// spoiledBlocks counts the blocks of dst in which a number is not src's, or a scale is no number.
func spoiledBlocks(src, dst *tensor.Tensor) int {
	f, g := frameOf(dst), frameOf(src)
	blocks := map[int]bool{}
	for k := range src.Len() {
		row := k / f.cols
		at := (row/f.rows*f.perPart+row%f.rows/f.block.Rows)*f.wide + k%f.cols/f.block.Cols
		// In float64, since two products below the smallest number of float32 are zero there whatever the codes are.
		a := float64(codeAt(src, k)) * float64(scaleAt(src, row*g.wide+k%f.cols/32))
		b := float64(codeAt(dst, k)) * float64(scaleAt(dst, at))
		if a != b {
			blocks[at] = true
		}
	}
	return len(blocks)
}
