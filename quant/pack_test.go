package quant

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/tensor"
)

func ExamplePackE4M3() {
	x := tensor.Of([]float32{0, 1e-5, .3, -.7, 1.1, 2.3, -3.9, 5.5}, 1, 8)
	codes, scales := PackE4M3(x, ActivationE4M3, UpE4M3)
	fmt.Println(codes.Mem, dtype.FromE8M0(scales.Mem[0]))
	fmt.Println(Unpack(codes, scales, ActivationE4M3).F32())
	// Output:
	// [0 0 90 227 105 113 248 123] 0.015625
	// [0 0 0.3125 -0.6875 1.125 2.25 -4 5.5]
}

func ExamplePackE2M1() {
	x := tensor.Of([]float32{.1, -.3, .7, 1.2, -2.6, 3.3, -.05, .9}, 1, 8)
	codes, scales := PackE2M1(x, GroupE2M1, UpE2M1)
	fmt.Printf("% x %v\n", codes.Mem, dtype.FromE8M0(scales.Mem[0]))
	// Output: 90 21 5d 28 1
}

// random returns numbers over many magnitudes, the same for a seed.
func random(seed uint64, rows, cols int) *tensor.Tensor {
	x := tensor.New(dtype.F32, rows, cols)
	for i := range x.F32() {
		seed = seed*6364136223846793005 + 1442695040888963407
		x.F32()[i] = float32(math.Ldexp(float64(int64(seed)>>40), int(seed>>33%24)-30))
	}
	return x
}

// Packing what was unpacked gives the same numbers; codes may move when the scale shrinks.
func TestPackIsIdempotent(t *testing.T) {
	for _, tt := range []struct {
		name string
		b    Block
		pack packer
		rule Rule
	}{
		{"E4M3 weights", WeightE4M3, PackE4M3, UpE4M3},
		{"E4M3 activations", ActivationE4M3, PackE4M3, UpE4M3},
		{"E2M1", GroupE2M1, PackE2M1, UpE2M1},
	} {
		x := random(7, 150, 260)
		once := rounded(x, tt.b, tt.pack, tt.rule)
		twice := rounded(once, tt.b, tt.pack, tt.rule)
		if !slices.Equal(once.F32(), twice.F32()) {
			t.Errorf("%s: packing what was unpacked changes it", tt.name)
		}
	}
}

// A block's bytes depend on its own numbers only.
func TestBlocksAreIndependent(t *testing.T) {
	x := random(3, 130, 140)
	codes, scales := PackE4M3(x, WeightE4M3, UpE4M3)
	y := x.Clone()
	y.F32()[129*140+139] = 1e9 // in the last block of four
	again, scalesAgain := PackE4M3(y, WeightE4M3, UpE4M3)
	if !slices.Equal(scales.Mem[:3], scalesAgain.Mem[:3]) || scales.Mem[3] == scalesAgain.Mem[3] {
		t.Errorf("scales were %v, are %v", scales.Mem, scalesAgain.Mem)
	}
	for i := range codes.Mem {
		if r, c := i/140, i%140; (r < 128 || c < 128) && codes.Mem[i] != again.Mem[i] {
			t.Fatalf("code [%d, %d] changed with a number of another block", r, c)
		}
	}
}

func TestNaNAndInfinityAreSeen(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		x := random(1, 2, 64)
		x.F32()[5] = float32(bad)
		for name, y := range map[string]*tensor.Tensor{
			"E4M3": rounded(x, ActivationE4M3, PackE4M3, UpE4M3),
			"E2M1": rounded(x, GroupE2M1, PackE2M1, UpE2M1),
			"MX":   rounded(x, GroupE2M1, PackE2M1, DownE2M1),
		} {
			if v := y.F32()[5]; v == v {
				t.Errorf("%s: %v unpacks to %v, want NaN", name, bad, v)
			}
			if v := y.F32()[64+5]; v != v {
				t.Errorf("%s: %v spoils another row", name, bad)
			}
		}
	}
}

func TestEmptyMatrix(t *testing.T) {
	codes, scales := PackE4M3(tensor.New(dtype.F32, 0, 128), WeightE4M3, UpE4M3)
	if codes.Len() != 0 || scales.Len() != 0 {
		t.Errorf("packing nothing gives %v and %v", codes, scales)
	}
}

func TestWrongShapesPanic(t *testing.T) {
	for want, f := range map[string]func(){
		"want two axes":              func() { PackE4M3(tensor.New(dtype.F32, 4), WeightE4M3, UpE4M3) },
		"even numbers of columns":    func() { PackE2M1(tensor.New(dtype.F32, 2, 3), GroupE2M1, UpE2M1) },
		"want F8_E8M0[2 1]":          func() { Unpack(tensor.New(dtype.E4M3, 192, 4), tensor.New(dtype.E8M0, 1, 1), WeightE4M3) },
		"want E4M3 or E2M1":          func() { Unpack(tensor.New(dtype.I8, 1, 4), tensor.New(dtype.E8M0, 1, 1), WeightE4M3) },
		"want E8M0 or F32":           func() { Unpack(tensor.New(dtype.E4M3, 1, 4), tensor.New(dtype.U8, 1, 1), WeightE4M3) },
		"tensor: BF16[2 2] read as ": func() { PackE4M3(tensor.New(dtype.BF16, 2, 2), WeightE4M3, UpE4M3) },
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
