package quant

import (
	"math"
	"testing"

	"furlong/dtype"
	"furlong/tensor"
)

// Exact for every code up to a spread of 2^14, and what is lost beyond is counted block by block.
func TestRecast(t *testing.T) {
	for spread := range 20 {
		src := FP4.New(1, 256, 256)
		for i := range src.Mem {
			src.Mem[i] = byte(i * 37) // all codes
		}
		for i := range src.Scale.Mem {
			src.Scale.Mem[i] = 120
		}
		src.Scale.Mem[200*8+1] = uint8(120 - spread) // in the block below the first
		dst := dirty(FP8.New(1, 256, 256))
		spoiled := Recast(dst, src)
		if want := map[bool]int{true: 1}[spread > 14]; spoiled != want {
			t.Errorf("spread %d: %d blocks lost something, want %d", spread, spoiled, want)
		}
		if l := Compare(src, dst); l.Exact() != (spoiled == 0) {
			t.Errorf("spread %d: %v, but %d blocks are counted", spread, l, spoiled)
		}
		for _, s := range dst.Scale.Mem {
			if s != 114 {
				t.Fatalf("spread %d: scales are %v, want 114, the largest over 64", spread, dst.Scale.Mem)
			}
		}
	}
}

func TestRecastOfTinyAndBadScales(t *testing.T) {
	for _, tt := range []struct {
		scale         uint8
		code          uint8
		want          uint8
		wantCode      uint8
		wantedSpoiled int
	}{
		{0, 1, 0, dtype.ToE4M3(.5), 0},
		{3, 7, 0, dtype.ToE4M3(48), 0},
		{255, 1, 255, 0x7f, 1},
		{254, 15, 248, dtype.ToE4M3(-384), 0},
	} {
		src, dst := FP4.New(1, 1, 2), dirty(FP8.New(1, 1, 2))
		src.Mem[0], src.Scale.Mem[0] = tt.code, tt.scale
		spoiled := Recast(dst, src)
		if spoiled != tt.wantedSpoiled || dst.Scale.Mem[0] != tt.want || dst.Mem[0] != tt.wantCode {
			t.Errorf("code %d under %d becomes %d under %d, %d spoiled; want %d under %d, %d", tt.code, tt.scale, dst.Mem[0], dst.Scale.Mem[0], spoiled, tt.wantCode, tt.want, tt.wantedSpoiled)
		}
	}
}

// A stack of fused matrices is recast part by part: no block reaches over the seam.
func TestRecastKeepsSeams(t *testing.T) {
	src := packedAs(FP4, 2, random(5, 3, 2*70, 200))
	dst := dirty(FP8.New(2, 3, 2*70, 200))
	if got := Recast(dst, src); got != spoiledBlocks(src, dst) {
		t.Errorf("%d blocks are counted, %d differ", got, spoiledBlocks(src, dst))
	}
	one := FP8.New(1, 70, 200)
	half := &tensor.Tensor{Type: dtype.E2M1, Shape: []int{70, 200}, Mem: src.Mem[3*7000:][:7000], Block: src.Block, Fused: 1}
	half.Scale = &tensor.Tensor{Type: dtype.E8M0, Shape: []int{70, 7}, Mem: src.Scale.Mem[3*490:][:490]}
	Recast(one, half)
	if string(one.Mem) != string(dst.Mem[3*14000:][:14000]) {
		t.Error("the fourth matrix in the stack is recast otherwise than alone")
	}
}

func TestCompare(t *testing.T) {
	a := tensor.Of([]float32{1, 2, float32(math.NaN()), float32(math.Copysign(0, -1)), 5}, 1, 5)
	b := tensor.Of([]float32{1, 2.5, float32(math.NaN()), 0, 4}, 1, 5)
	if l := Compare(a, b); l != (Loss{5, 2, 1, 1.5}) || l.Mean() != .3 || l.Exact() {
		t.Errorf("loss is %+v", l)
	}
	if l := Compare(a, a); !l.Exact() || l.String() != "exact" {
		t.Errorf("loss of nothing is %v", l)
	}
	b.F32()[0] = float32(math.Inf(1))
	if l := Compare(a, b); !math.IsInf(l.Max, 1) {
		t.Errorf("a number became infinite, and the loss is %v", l)
	}
	w := random(1, 3, 130)
	for _, f := range formats {
		q := packed(w, f)
		if l := Compare(unpacked(q), q); !l.Exact() || l.Numbers != 390 {
			t.Errorf("%v: what is unpacked differs from what is packed: %v", f, l)
		}
		if l := Compare(w, q); l.Exact() {
			t.Errorf("%v: nothing is lost", f)
		}
	}
	if l := Compare(narrow(w), wide(narrow(w))); !l.Exact() {
		t.Errorf("widening lost %v", l)
	}
}
