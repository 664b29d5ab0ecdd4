package quant

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"furlong/dtype"
	"furlong/kernels/cpu/asm"
	"furlong/tensor"
)

// vectorFormats are those that the assembly has.
var vectorFormats = []Format{
	FP8, FP4, activations,
	{dtype.E4M3, dtype.F32, WeightE4M3},
	{dtype.E4M3, dtype.F32, ActivationE4M3},
	{dtype.E4M3, dtype.E8M0, Block{3, 64}},
	{dtype.E2M1, dtype.E8M0, Block{2, 96}},
}

// bothWays runs a call in assembly and in Go.
func bothWays(t *testing.T, c call, out *tensor.Tensor, vector, plain func(*call, int) int) (got, want *tensor.Tensor) {
	t.Helper()
	if !asm.Available() {
		t.Skip("no assembly on this machine")
	}
	if !c.vectors() {
		t.Fatalf("%v by %v in blocks of %v is not for the assembly", c.q, c.q.Scale, c.block)
	}
	c.enc = encoding()
	long := c
	long.flat()
	run(long, vector)
	got = out.Clone()
	dirty(out)
	run(c, plain)
	return got, out
}

// checkPack holds the assembly's codes and scales of w against the Go code's, byte for byte.
func checkPack(t *testing.T, f Format, fused int, w *tensor.Tensor, rule Rule) {
	t.Helper()
	q := dirty(f.New(fused, w.Shape...))
	c := callFor(q, w)
	c.rule = rule
	got, want := bothWays(t, c, q, packStrips, packBand)
	if !bytes.Equal(got.Scale.Mem, want.Scale.Mem) {
		t.Errorf("%v of %v: scales are % x, want % x", f, w, got.Scale.Mem, want.Scale.Mem)
	}
	for i, b := range got.Mem {
		if b != want.Mem[i] {
			per := len(want.Mem) * 2 / w.Len() // codes in two bytes
			t.Fatalf("%v of %v: byte %d is %#x, want %#x, of %v", f, w, i, b, want.Mem[i], c.number(i*2/per))
		}
	}
}

// checkUnpack does the same for numbers.
func checkUnpack(t *testing.T, q *tensor.Tensor) {
	t.Helper()
	for _, to := range []dtype.Type{dtype.F32, dtype.BF16} {
		w := dirty(tensor.New(to, q.Shape...))
		c := callFor(q, w)
		got, want := bothWays(t, c, w, unpackStrips, unpackBand)
		if bytes.Equal(got.Mem, want.Mem) {
			continue
		}
		for i := range w.Len() {
			if a, b := got.Mem[to.Bytes(i):to.Bytes(i+1)], want.Mem[to.Bytes(i):to.Bytes(i+1)]; !bytes.Equal(a, b) {
				t.Fatalf("%v to %v: element %d is % x, want % x, of code %v", FormatOf(q), to, i, a, b, codeAt(q, i))
			}
		}
	}
}

func anyRules() map[string]Rule {
	return map[string]Rule{
		"up": nil, "down": DownE2M1,
		"0": func(float32) uint8 { return 0 }, "40": func(float32) uint8 { return 40 },
		"254": func(float32) uint8 { return 254 }, "255": func(float32) uint8 { return 255 },
	}
}

// All 2^16 numbers of BF16, in order, so that blocks are of one magnitude, and mixed; no numbers among them.
func TestVectorsPackEveryBF16(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing here runs beside anything else, and it takes long under the race detector")
	}
	order := rand.New(rand.NewPCG(1, 1)).Perm(1 << 16)
	ordered, mixed := tensor.New(dtype.BF16, 512, 128), tensor.New(dtype.BF16, 512, 128)
	for i := range 1 << 16 {
		ordered.BF16()[i], mixed.BF16()[i] = uint16(i), uint16(order[i])
	}
	near := ordered.Clone() // of 16 binades each row has one number
	for i := range 1 << 16 {
		near.BF16()[i] = uint16(i%128*256 + i/128)
	}
	for _, w := range []*tensor.Tensor{ordered, mixed, near, wide(ordered), wide(mixed), wide(near)} {
		for _, f := range vectorFormats {
			checkPack(t, f, 1, w, nil)
			if f.Scale != dtype.E8M0 {
				continue
			}
			for _, rule := range anyRules() {
				checkPack(t, f, 1, w, rule)
			}
		}
	}
}

// Random numbers of every exponent, below the largest of their block by up to 2^24, and halves of steps.
func TestVectorsPackEveryExponent(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing here runs beside anything else, and it takes long under the race detector")
	}
	r := rand.New(rand.NewPCG(2, 2))
	for e := range uint32(256) {
		w := tensor.New(dtype.F32, 24, 160)
		for i := range w.F32() {
			low := e - min(e, r.Uint32N(24))
			mantissa := r.Uint32() & (1<<23 - 1)
			switch i % 4 { // at, or right beside, the middle between two codes: of E4M3, of E2M1
			case 0:
				mantissa = mantissa&0x700000 | 1<<19 + r.Uint32N(3) - 1
			case 1:
				mantissa = (mantissa&0x600000 + r.Uint32N(3) - 1) & (1<<23 - 1)
			}
			w.F32()[i] = math.Float32frombits(r.Uint32()<<31 | low<<23 | mantissa)
		}
		for _, f := range vectorFormats {
			checkPack(t, f, 1, w, nil)
			checkPack(t, f, 1, narrow(w), nil)
		}
	}
}

// Widths that are cut at 32 and at blocks, stacks, fused matrices.
func TestVectorsPackEdges(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing here runs beside anything else, and it takes long under the race detector")
	}
	for _, f := range vectorFormats {
		for _, cols := range []int{2, 30, 32, 34, 62, 96, 128, 130, 288, 2050, 4096 + 128 + 34} {
			for i, s := range []struct {
				fused int
				shape []int
			}{{1, []int{1, cols}}, {1, []int{130, cols}}, {2, []int{3, 2 * 5, cols}}, {2, []int{2 * 129, cols}}} {
				w := random(uint64(i), s.shape...)
				checkPack(t, f, s.fused, w, nil)
				checkPack(t, f, s.fused, narrow(w), nil)
				w.F32()[w.Len()-1] = float32(math.NaN())
				checkPack(t, f, s.fused, w, nil)
				q := packedAs(f, s.fused, random(uint64(i), s.shape...))
				checkUnpack(t, q)
			}
		}
	}
}

// Every byte of codes under every scale byte, and under float32 scales of every kind.
func TestVectorsUnpackEveryCode(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing here runs beside anything else, and it takes long under the race detector")
	}
	for _, f := range vectorFormats {
		scales := 256
		q := f.New(1, scales*f.Block.Rows, max(512, f.Block.Cols))
		for i := range q.Mem {
			q.Mem[i] = byte(i)
		}
		for _, nan := range []bool{true, false} {
			for i := 0; i < len(q.Mem) && !nan; i++ { // without the codes of NaN, which send a strip to the Go code
				if q.Type == dtype.E4M3 && q.Mem[i]&0x7f == 0x7f {
					q.Mem[i]--
				}
			}
			wide := q.Scale.Dim()
			for i := range q.Scale.Len() {
				if f.Scale == dtype.E8M0 {
					q.Scale.Mem[i] = byte(i / wide)
					continue
				}
				q.Scale.F32()[i] = math.Float32frombits(uint32(i/wide)<<24 | uint32(i)*0x9e3779b1>>8)
			}
			checkUnpack(t, q)
		}
	}
	q := Format{dtype.E4M3, dtype.F32, Block{1, 256}}.New(1, 6, 256)
	for i := range q.Mem {
		q.Mem[i] = byte(i)
	}
	copy(q.Scale.F32(), []float32{0, float32(math.Inf(1)), float32(math.NaN()), -0x1p-149, 3e38, float32(math.Inf(-1))})
	checkUnpack(t, q)
}

// Every mantissa of float32, over a scale that was chosen for the largest of E2M1's numbers.
func TestVectorsPackEveryMantissa(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing here runs beside anything else, and it takes long under the race detector")
	}
	const rows = 1 << 10 // of 2^10 blocks
	for _, f := range []Format{FP4, activations} {
		w := tensor.New(dtype.F32, rows, f.Block.Cols<<2)
		for part := range 1 << 23 / w.Len() {
			for i := range w.F32() {
				exponent := uint32(125 + i%5) // a quarter to four
				w.F32()[i] = math.Float32frombits(uint32(i)<<31 | exponent<<23 | uint32(part*w.Len()+i))
			}
			checkPack(t, f, 1, w, nil)
		}
	}
}

// The rule in whole numbers is the rule.
func TestUpIsTheRule(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing here runs beside anything else, and it takes long under the race detector")
	}
	for mantissa := range uint32(1 << 23) {
		checkUp(t, 127<<23|mantissa)
	}
	for hi := range uint32(0x7fff) {
		for _, low := range []uint32{0, 1, 0x8000, 0xffff} {
			checkUp(t, hi<<16|low)
		}
	}
}

func checkUp(t *testing.T, amax uint32) {
	t.Helper()
	x := math.Float32frombits(amax)
	if got, want := up(amax, dtype.E4M3), UpE4M3(x); got != want {
		t.Fatalf("E4M3: scale of %v is %d, want %d", x, got, want)
	}
	if got, want := up(amax, dtype.E2M1), UpE2M1(x); got != want {
		t.Fatalf("E2M1: scale of %v is %d, want %d", x, got, want)
	}
}

func ExampleUnpack() {
	q := FP4.New(1, 1, 32)
	q.Mem[0], q.Scale.Mem[0] = 0xf2, 127 // the even element lies in the lower half
	x := tensor.New(dtype.F32, 1, 32)
	Unpack(x, q)
	fmt.Println(x.F32()[:2])
	// Output: [1 -6]
}
