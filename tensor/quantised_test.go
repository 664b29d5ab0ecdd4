package tensor

import (
	"slices"
	"testing"

	"furlong/dtype"
)

func TestQuantised(t *testing.T) {
	q := NewQuantised(dtype.E4M3, dtype.E8M0, [2]int{128, 128}, 1, 3, 130, 256)
	if want := []int{3, 2, 2}; !slices.Equal(q.Scale.Shape, want) {
		t.Errorf("grid is %v, want %v", q.Scale.Shape, want)
	}
	q.Scale.Mem[4] = 7
	if fused := NewQuantised(dtype.E4M3, dtype.E8M0, [2]int{128, 128}, 2, 3, 2*130, 256); !slices.Equal(fused.Scale.Shape, []int{3, 4, 2}) {
		t.Errorf("grid of two fused is %v, want [3 4 2]", fused.Scale.Shape)
	}
	one := q.Slice(1, 2)
	if !one.Quantised() || one.Scale.Mem[0] != 7 || one.Block != q.Block {
		t.Errorf("slice has scales %v of block %v, want the second matrix's", one.Scale.Mem, one.Block)
	}
	c := q.Clone()
	c.Scale.Mem[4] = 8
	if q.Scale.Mem[4] != 7 {
		t.Error("clone shares its scales")
	}
	if four := NewQuantised(dtype.E2M1, dtype.E8M0, [2]int{1, 32}, 1, 4, 40); len(four.Mem) != 80 || len(four.Scale.Mem) != 8 {
		t.Errorf("E2M1 [4, 40] takes %d bytes and %d scales, want 80 and 8", len(four.Mem), len(four.Scale.Mem))
	}
}

func TestQuantisedRefuses(t *testing.T) {
	q := NewQuantised(dtype.E4M3, dtype.E8M0, [2]int{128, 128}, 1, 256, 128)
	for name, f := range map[string]func(){
		"view":  func() { q.View(128, 256) },
		"slice": func() { q.Slice(0, 100) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s of a quantised matrix went through, want a panic", name)
				}
			}()
			f()
		}()
	}
}
