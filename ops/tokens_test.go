package ops

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/tensor"
)

// packed returns tokens of sequences 0, 1, ... of the given lengths.
func packed(lengths ...int) *Tokens {
	in := &Tokens{}
	for seq, n := range lengths {
		for p := range n {
			in.Seq, in.Pos = append(in.Seq, int32(seq)), append(in.Pos, int32(p))
		}
	}
	return in
}

func TestTokensClosed(t *testing.T) {
	for _, tt := range []struct {
		name     string
		in       *Tokens
		m        int32
		seq, pos []int32
	}{
		{"none", packed(3), 4, nil, nil},
		{"one to the token", packed(4), 4, []int32{0}, []int32{0}},
		{"a rest", packed(9), 4, []int32{0, 0}, []int32{0, 1}},
		{"each sequence from its own start", packed(3, 8, 1, 5), 4, []int32{1, 1, 3}, []int32{0, 1, 0}},
		{"windows of one token", packed(2, 1), 1, []int32{0, 0, 1}, []int32{0, 1, 0}},
		{"a piece in the middle", &Tokens{Seq: []int32{7, 7, 7}, Pos: []int32{6, 7, 8}}, 4, []int32{7}, []int32{1}},
		{"single tokens", &Tokens{Seq: []int32{2, 5}, Pos: []int32{3, 4}}, 4, []int32{2}, []int32{0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.in.Closed(tt.m)
			if !reflect.DeepEqual(got.Seq, tt.seq) || !reflect.DeepEqual(got.Pos, tt.pos) {
				t.Errorf("Closed(%d) = sequences %v, windows %v, want %v, %v", tt.m, got.Seq, got.Pos, tt.seq, tt.pos)
			}
			if tt.in.Closed(tt.m) != got {
				t.Error("a second call made other tokens, want the same, for their rotations")
			}
		})
	}
}

func TestTokensRuns(t *testing.T) {
	for _, tt := range []struct {
		in   *Tokens
		want string
	}{
		{packed(), ""},
		{packed(2), "0:0-2 "},
		{packed(2, 1, 3), "0:0-2 1:2-3 2:3-6 "},
		{&Tokens{Seq: []int32{9, 4, 4}}, "9:0-1 4:1-3 "},
	} {
		got := ""
		tt.in.Runs(func(seq int32, lo, hi int) { got += fmt.Sprintf("%d:%d-%d ", seq, lo, hi) })
		if got != tt.want {
			t.Errorf("Runs of %v = %q, want %q", tt.in.Seq, got, tt.want)
		}
	}
}

func TestRotation(t *testing.T) {
	freq := []float32{1, 0.25}
	for _, tt := range []struct {
		name   string
		in     *Tokens
		stride int32
		want   []float64 // positions
	}{
		{"tokens", packed(3, 2), 1, []float64{0, 1, 2, 0, 1}},
		{"windows at their first token", packed(12).Closed(4), 4, []float64{0, 4, 8}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := wideCtx()
			r := tt.in.Rotation(c, freq, tt.stride)
			for i, p := range tt.want {
				for j, f := range freq {
					a := p * float64(f)
					if cos, sin := r.Cos.F64()[2*i+j], r.Sin.F64()[2*i+j]; cos != math.Cos(a) || sin != math.Sin(a) {
						t.Errorf("row %d, pair %d: (%v, %v), want the cosine and sine of %v", i, j, cos, sin, a)
					}
				}
			}
			c.Mem.Reset() // must not matter
			if again := tt.in.Rotation(c, freq, tt.stride); again != r {
				t.Error("a second call made another rotation")
			}
			if other := tt.in.Rotation(c, []float32{1, 0.25}, tt.stride); other == r {
				t.Error("other frequencies share the rotation")
			}
			if other := tt.in.Rotation(c, freq, tt.stride+1); other == r {
				t.Error("another stride shares the rotation")
			}
		})
	}
}

func TestNewPlan(t *testing.T) {
	for _, tt := range []struct {
		name      string
		choice    []int32
		rows, off []int32
	}{
		{"no tokens", nil, []int32{}, []int32{0, 0, 0, 0}},
		{"sorted by expert, tokens in order", []int32{2, 0, 0, 2}, []int32{2, 0, 1, 3}, []int32{0, 2, 2, 4}},
		{"one expert twice", []int32{1, 1, 2, 1}, []int32{0, 1, 3, 2}, []int32{0, 0, 3, 4}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := NewPlan(tt.choice, 2, 3)
			if !reflect.DeepEqual(append([]int32{}, p.Rows...), tt.rows) || !reflect.DeepEqual(p.Off, tt.off) || p.K != 2 {
				t.Errorf("NewPlan(%v) = %v, want rows %v, off %v", tt.choice, p, tt.rows, tt.off)
			}
		})
	}
}

// A sink far above every key takes all; far below it takes nothing. Neither may overflow.
func TestAttendWithExtremeSinks(t *testing.T) {
	for _, a := range arithmetics {
		t.Run(a.name, func(t *testing.T) {
			c := a.ctx()
			row := kernels.View{Pool: c.New(1, 2), Rows: []int32{0}, Lo: []int32{0}, Hi: []int32{1}}
			q, sink := c.New(1, 4), c.New(2)
			set(row.Pool, 3, -1)
			set(q, 1, 0, 0, 1)
			set(sink, 1000, -1000)
			got := values(Attend(c, q, &tensor.Param{Value: sink}, 2, row))
			if want := []float64{0, 0, 3, -1}; !reflect.DeepEqual(got, want) {
				t.Errorf("Attend = %v, want %v", got, want)
			}
		})
	}
}

// On equal scores the earlier entry is kept.
func TestIndexTopKTies(t *testing.T) {
	for _, a := range arithmetics {
		t.Run(a.name, func(t *testing.T) {
			c := a.ctx()
			keys := kernels.View{Pool: c.New(4, 1), Rows: []int32{0, 1, 2, 3}, Lo: []int32{0, 0}, Hi: []int32{4, 3}}
			q, w := c.New(2, 2), c.New(2, 2)
			set(keys.Pool, -1, 2, -3, 2)
			set(q, 1, 1, -1, -1)
			set(w, 1, 1, 1, 0)
			v := IndexTopK(c, q, w, 2, keys, 3)
			if got, want := [][]int32{v.At(0), v.At(1)}, [][]int32{{0, 1, 3}, {0, 1, 2}}; !reflect.DeepEqual(got, want) {
				t.Errorf("kept %v, want %v", got, want)
			}
		})
	}
}

func set(x *tensor.Tensor, v ...float64) {
	for i, f := range v {
		if x.Type == dtype.F64 {
			x.F64()[i] = f
		} else {
			x.F32()[i] = float32(f)
		}
	}
}

func values(x *tensor.Tensor) []float64 {
	if x.Type == dtype.F64 {
		return x.F64()
	}
	var y []float64
	for _, v := range x.F32() {
		y = append(y, float64(v))
	}
	return y
}
