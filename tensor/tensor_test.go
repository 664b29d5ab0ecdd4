package tensor

import (
	"slices"
	"testing"

	"furlong/dtype"
)

func TestArena(t *testing.T) {
	var a Arena
	x := a.New(dtype.F32, 3, 5)
	m := a.Mark()
	y := a.Zeros(dtype.BF16, 7)
	if len(x.Mem) != 60 || len(y.Mem) != 14 || y.Rows() != 1 || x.Rows() != 3 || x.Dim() != 5 {
		t.Errorf("got %v of %d bytes, %v of %d bytes", x, len(x.Mem), y, len(y.Mem))
	}
	x.F32()[14], y.BF16()[6] = 1, 2
	a.Release(m)
	z := a.New(dtype.BF16, 7)
	if &z.Mem[0] != &y.Mem[0] {
		t.Error("memory released at a mark is not handed out again")
	}
	if a.Zeros(dtype.BF16, 7); z.BF16()[6] != 2 {
		t.Error("a later tensor lies over an earlier one")
	}
	big := a.New(dtype.F32, slabBytes)
	if got := a.Bytes(); got < 4*slabBytes+len(x.Mem) {
		t.Errorf("holds %d bytes with a tensor of %d in use", got, len(big.Mem))
	}
	before := a.Bytes()
	a.Reset()
	a.New(dtype.F32, slabBytes/8)
	if a.Bytes() != before {
		t.Errorf("holds %d bytes after a reset, want %d", a.Bytes(), before)
	}
}

// A loop of equal passes takes no memory after the first but for headers, which are cut from chunks.
func TestArenaIsSteady(t *testing.T) {
	var a Arena
	pass := func() {
		a.Reset()
		for i := range 100 {
			a.New(dtype.F32, i+1, 3)
		}
	}
	pass()
	if n := testing.AllocsPerRun(50, pass); n > 2 {
		t.Errorf("a pass of 100 tensors allocates %v times, want at most 2", n)
	}
}

func TestViewsShareMemory(t *testing.T) {
	x := Of([]float32{1, 2, 3, 4, 5, 6}, 3, 2)
	x.View(2, 3).F32()[5] = 60
	x.Slice(1, 2).F32()[0] = 30
	if want := []float32{1, 2, 30, 4, 5, 60}; !slices.Equal(x.F32(), want) {
		t.Errorf("got %v, want %v", x.F32(), want)
	}
	c := x.Clone()
	c.F32()[0] = 9
	if x.F32()[0] != 1 {
		t.Error("a clone shares memory")
	}
}

func TestWrongUsePanics(t *testing.T) {
	for name, f := range map[string]func(){
		"another format": func() { New(dtype.F32, 2).BF16() },
		"another size":   func() { New(dtype.F32, 6).View(4) },
		"values":         func() { Of([]float32{1}, 2) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}

func TestAlignment(t *testing.T) {
	for n := range 40 {
		if x := New(dtype.U8, n); len(x.Mem) != n {
			t.Errorf("%d bytes, want %d", len(x.Mem), n)
		}
	}
}
