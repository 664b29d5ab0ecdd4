package quant

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/tensor"
)

func ExamplePack() {
	x := tensor.Of([]float32{0, 1e-5, .3, -.7, 1.1, 2.3, -3.9, 5.5}, 1, 8)
	q := Format{dtype.E4M3, dtype.E8M0, ActivationE4M3}.New(1, 1, 8)
	Pack(q, x)
	fmt.Println(q.Mem, dtype.FromE8M0(q.Scale.Mem[0]))
	Unpack(x, q)
	fmt.Println(x.F32())
	// Output:
	// [0 0 90 227 105 113 248 123] 0.015625
	// [0 0 0.3125 -0.6875 1.125 2.25 -4 5.5]
}

func ExamplePack_fp4() {
	x := tensor.Of([]float32{.1, -.3, .7, 1.2, -2.6, 3.3, -.05, .9}, 1, 8)
	q := FP4.New(1, 1, 8)
	Pack(q, x)
	fmt.Printf("% x %v\n", q.Mem, dtype.FromE8M0(q.Scale.Mem[0]))
	// Output: 90 21 5d 28 1
}

// random returns numbers over many magnitudes, the same for a seed.
func random(seed uint64, shape ...int) *tensor.Tensor {
	x := tensor.New(dtype.F32, shape...)
	for i := range x.F32() {
		seed = seed*6364136223846793005 + 1442695040888963407
		x.F32()[i] = float32(math.Ldexp(float64(int64(seed)>>40), int(seed>>33%24)-30))
	}
	return x
}

// narrow returns x rounded to BF16.
func narrow(x *tensor.Tensor) *tensor.Tensor {
	y := tensor.New(dtype.BF16, x.Shape...)
	for i, v := range x.F32() {
		y.BF16()[i] = dtype.ToBF16(v)
	}
	return y
}

func wide(x *tensor.Tensor) *tensor.Tensor {
	y := tensor.New(dtype.F32, x.Shape...)
	for i, b := range x.BF16() {
		y.F32()[i] = dtype.FromBF16(b)
	}
	return y
}

// formats are those that files have, and blocks that cut rows in odd places.
var formats = []Format{
	FP8, FP4, activations,
	{dtype.E4M3, dtype.F32, WeightE4M3},
	{dtype.E2M1, dtype.F32, GroupE2M1},
	{dtype.E4M3, dtype.E8M0, Block{3, 5}},
	{dtype.E2M1, dtype.E8M0, Block{2, 6}},
}

// plainly is the definition: element by element, block by block, with nothing shared with the code under test but the casts.
func plainly(q, w *tensor.Tensor, rule Rule) {
	n := len(q.Shape)
	cols, rows := q.Shape[n-1], q.Shape[n-2]/q.Fused
	at := 0
	for part := range w.Len() / (rows * cols) {
		for top := 0; top < rows; top += q.Block[0] {
			for left := 0; left < cols; left += q.Block[1] {
				var places []int
				for r := top; r < min(top+q.Block[0], rows); r++ {
					for c := left; c < min(left+q.Block[1], cols); c++ {
						places = append(places, (part*rows+r)*cols+c)
					}
				}
				plainBlock(q, w.F32(), places, at, rule)
				at++
			}
		}
	}
}

func plainBlock(q *tensor.Tensor, w []float32, places []int, at int, rule Rule) {
	var amax float32
	for _, k := range places {
		amax = max(amax, float32(math.Abs(float64(w[k]))))
	}
	var s float32
	if q.Scale.Type == dtype.E8M0 {
		q.Scale.Mem[at] = rule(amax)
		s = dtype.FromE8M0(q.Scale.Mem[at])
	} else {
		if s = max(amax, 1e-4) / 448; q.Type == dtype.E2M1 {
			s = max(amax, 6*0x1p-126) / 6
		}
		q.Scale.F32()[at] = s
	}
	for _, k := range places {
		if q.Type == dtype.E4M3 {
			q.Mem[k] = dtype.ToE4M3Sat(w[k] / s)
		} else {
			q.Mem[k/2] = q.Mem[k/2]&^(15<<(k%2*4)) | dtype.ToE2M1(w[k]/s)<<(k%2*4)
		}
	}
}

func dirty(q *tensor.Tensor) *tensor.Tensor {
	for i := range q.Mem {
		q.Mem[i] = 0xa5
	}
	if q.Quantised() {
		dirty(q.Scale)
	}
	return q
}

// shapes are matrices and stacks, with blocks that the edge cuts, and enough of them for several goroutines.
var shapes = []struct {
	fused int
	shape []int
}{
	{1, []int{1, 2}},
	{1, []int{130, 260}},
	{1, []int{256, 128}},
	{2, []int{3, 2 * 70, 34}},
	{2, []int{2 * 5, 66}},
	{1, []int{5, 33, 130}},
	{1, []int{300, 256}},
}

func TestPackIsWhatItIsDefinedToBe(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing here runs beside anything else, and it takes long under the race detector")
	}
	for _, f := range formats {
		for i, s := range shapes {
			for _, rule := range rulesOf(f) {
				w := random(uint64(i), s.shape...)
				got, want := dirty(f.New(s.fused, s.shape...)), f.New(s.fused, s.shape...)
				plainly(want, w, rule.rule)
				rule.pack(got, w)
				if !bytes.Equal(got.Mem, want.Mem) || !bytes.Equal(got.Scale.Mem, want.Scale.Mem) {
					t.Errorf("%v, %v, %s: codes or scales are not as defined", f, s, rule.name)
				}
				w = wide(narrow(w))
				plainly(want, w, rule.rule)
				rule.pack(dirty(got), narrow(w))
				if !bytes.Equal(got.Mem, want.Mem) || !bytes.Equal(got.Scale.Mem, want.Scale.Mem) {
					t.Errorf("%v, %v, %s: of BF16, codes or scales are not as defined", f, s, rule.name)
				}
			}
		}
	}
}

type ruled struct {
	name string
	rule Rule
	pack func(q, w *tensor.Tensor)
}

// rulesOf returns the rules for the scales of a format: up, down, and one that no format needs, which saturates everything.
func rulesOf(f Format) []ruled {
	up, low := UpE4M3, DownE4M3
	if f.Code == dtype.E2M1 {
		up, low = UpE2M1, DownE2M1
	}
	list := []ruled{{"up", up, Pack}}
	if f.Scale == dtype.E8M0 {
		small := func(float32) uint8 { return 40 }
		list = append(list,
			ruled{"down", low, func(q, w *tensor.Tensor) { PackBy(low, q, w) }},
			ruled{"small", small, func(q, w *tensor.Tensor) { PackBy(small, q, w) }})
	}
	return list
}

func TestUnpackIsCodeTimesScale(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing here runs beside anything else, and it takes long under the race detector")
	}
	for _, f := range formats {
		for i, s := range shapes {
			q := packedAs(f, s.fused, random(uint64(i)+9, s.shape...))
			got := dirty(tensor.New(dtype.F32, s.shape...))
			short := dirty(tensor.New(dtype.BF16, s.shape...))
			Unpack(got, q)
			Unpack(short, q)
			fr := frameOf(q)
			for k, x := range got.F32() {
				row, col := k/fr.cols, k%fr.cols
				at := (row/fr.rows*ceil(fr.rows, fr.block.Rows)+row%fr.rows/fr.block.Rows)*fr.wide + col/fr.block.Cols
				if want := codeAt(q, k) * scaleAt(q, at); x != want || short.BF16()[k] != dtype.ToBF16(want) {
					t.Fatalf("%v, %v: element %d is %v and %#x, want %v", f, s, k, x, short.BF16()[k], want)
				}
			}
		}
	}
}

func packedAs(f Format, fused int, w *tensor.Tensor) *tensor.Tensor {
	q := f.New(fused, w.Shape...)
	Pack(q, w)
	return q
}

// Every byte and every scale, in every table.
func TestUnpackAllCodes(t *testing.T) {
	for _, f := range []Format{{dtype.E4M3, dtype.E8M0, Block{1, 256}}, {dtype.E2M1, dtype.E8M0, Block{1, 512}}} {
		cols := f.Block.Cols
		q, x, b := f.New(1, 256, cols), tensor.New(dtype.F32, 256, cols), tensor.New(dtype.BF16, 256, cols)
		for i := range q.Mem {
			q.Mem[i] = byte(i)
		}
		for s := range q.Scale.Mem {
			q.Scale.Mem[s] = byte(s)
		}
		Unpack(x, q)
		Unpack(b, q)
		for k, got := range x.F32() {
			want := codeAt(q, k) * dtype.FromE8M0(byte(k/cols))
			if math.Float32bits(got) != math.Float32bits(want) && (got == got || want == want) {
				t.Fatalf("%v: code %d under scale %d is %v, want %v", f, k%cols, k/cols, got, want)
			}
			if dtype.ToBF16(want) != b.BF16()[k] && want == want {
				t.Fatalf("%v: code %d under scale %d is %#x in BF16, want %v", f, k%cols, k/cols, b.BF16()[k], want)
			}
		}
	}
}

// Packing what was unpacked gives the same numbers; codes may move when the scale shrinks.
func TestPackIsIdempotent(t *testing.T) {
	for _, f := range []Format{FP8, activations, FP4} {
		once := rounded(random(7, 150, 260), f)
		if twice := rounded(once, f); !slices.Equal(once.F32(), twice.F32()) {
			t.Errorf("%v: packing what was unpacked changes it", f)
		}
	}
}

// A block's bytes depend on its own numbers only.
func TestBlocksAreIndependent(t *testing.T) {
	x := random(3, 130, 140)
	q := packed(x, FP8)
	y := x.Clone()
	y.F32()[129*140+139] = 1e9 // in the last block of four
	again := packed(y, FP8)
	if !slices.Equal(q.Scale.Mem[:3], again.Scale.Mem[:3]) || q.Scale.Mem[3] == again.Scale.Mem[3] {
		t.Errorf("scales were %v, are %v", q.Scale.Mem, again.Scale.Mem)
	}
	for i := range q.Mem {
		if r, c := i/140, i%140; (r < 128 || c < 128) && q.Mem[i] != again.Mem[i] {
			t.Fatalf("code [%d, %d] changed with a number of another block", r, c)
		}
	}
}

func TestNaNAndInfinityAreSeen(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(math.NaN(), -1)} {
		for _, f := range formats {
			x := random(1, 4, 64)
			x.F32()[0] = float32(bad)
			for _, w := range []*tensor.Tensor{x, narrow(x)} {
				for _, rule := range rulesOf(f)[:1] {
					q := f.New(1, 4, 64)
					rule.pack(q, w)
					y := unpacked(q)
					for i, v := range y.F32() {
						in := i/64 < f.Block.Rows && i%64 < f.Block.Cols
						if in != (v != v) {
							t.Fatalf("%v: with %v in its first block, element %d unpacks to %v", f, bad, i, v)
						}
					}
				}
			}
		}
	}
}

func TestEmptyMatrix(t *testing.T) {
	for _, shape := range [][]int{{0, 128}, {4, 0}} {
		if q := packed(tensor.New(dtype.F32, shape...), FP8); q.Len() != 0 || q.Scale.Len() != 0 {
			t.Errorf("packing nothing gives %v and %v", q, q.Scale)
		}
	}
}

func TestWrongShapesPanic(t *testing.T) {
	f32 := func(shape ...int) *tensor.Tensor { return tensor.New(dtype.F32, shape...) }
	grid := FP8.New(1, 192, 4)
	grid.Scale = tensor.New(dtype.E8M0, 1, 1)
	ints := FP8.New(1, 4, 4)
	ints.Type = dtype.I8
	scales := FP8.New(1, 4, 4)
	scales.Scale.Type = dtype.U8
	for want, f := range map[string]func(){
		"is not a quantised matrix":           func() { Pack(f32(4, 4), f32(4, 4)) },
		"want the shape of F8_E4M3[4 4]":      func() { Pack(FP8.New(1, 4, 4), f32(4, 5)) },
		"want F32 or BF16":                    func() { Unpack(tensor.New(dtype.F64, 4, 4), FP8.New(1, 4, 4)) },
		"even numbers of columns":             func() { Pack(FP4.New(1, 2, 3), f32(2, 3)) },
		"want 2 rows of 1":                    func() { Unpack(f32(192, 4), grid) },
		"codes are I8[4 4]":                   func() { Unpack(f32(4, 4), ints) },
		"scales are U8[1 1], want E8M0 or":    func() { Unpack(f32(4, 4), scales) },
		"scales are F32[1 1], want E8M0 for":  func() { PackBy(UpE4M3, FP8.wide().New(1, 4, 4), f32(4, 4)) },
		"recast of F8_E4M3[4 4]":              func() { Recast(FP8.New(1, 4, 4), FP8.New(1, 4, 4)) },
		"quant: compare F32[4 4] with F32[4]": func() { Compare(f32(4, 4), f32(4)) },
		"has no numbers to compare":           func() { Compare(tensor.New(dtype.I32, 4), tensor.New(dtype.I32, 4)) },
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
					t.Errorf("panic is %q, want %q", got, want)
				}
			}()
			f()
		}()
	}
}

// A loop of equal calls takes no memory after the first.
func TestPackIsSteady(t *testing.T) {
	for _, f := range []Format{FP8, FP4} {
		q, w := f.New(1, 256, 256), random(1, 256, 256)
		both := func() {
			Pack(q, w)
			Unpack(w, q)
		}
		both()
		if n := testing.AllocsPerRun(10, both); n >= 1 {
			t.Errorf("%v: packing and unpacking allocate %v times", f, n)
		}
	}
}
