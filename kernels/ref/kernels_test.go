package ref

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/tensor"
)

// TestAttendDense compares Attend with a softmax over all pairs, masked to the views.
func TestAttendDense(t *testing.T) {
	const rows, heads, dim = 5, 3, 11
	r := rand.New(rand.NewPCG(5, 6))
	q, sink, pool := random(r, 2, rows, heads*dim), random(r, 1, heads), random(r, 1, rows, dim)
	var causal [][]int32
	for q := range int32(rows) {
		var see []int32
		for j := range q + 1 {
			see = append(see, j)
		}
		causal = append(causal, see)
	}
	o, lse := empty(rows, heads*dim), empty(rows, heads)
	New[float64]().Attend(o, lse, q, sink, heads, view(pool, causal...))
	for i := range rows {
		for h := range heads {
			want, wantLSE := denseAttention(q.F64()[(i*heads+h)*dim:][:dim], sink.F64()[h], pool.F64()[:(i+1)*dim])
			if got := lse.F64()[i*heads+h]; math.Abs(got-wantLSE) > 1e-13 {
				t.Errorf("query %d head %d: lse is %v, want %v", i, h, got, wantLSE)
			}
			for c, w := range want {
				if got := o.F64()[(i*heads+h)*dim+c]; math.Abs(got-w) > 1e-13 {
					t.Errorf("query %d head %d channel %d: output is %v, want %v", i, h, c, got, w)
				}
			}
		}
	}
}

func denseAttention(q []float64, sink float64, keys []float64) (o []float64, lse float64) {
	o = make([]float64, len(q))
	z := math.Exp(sink)
	for j := 0; j < len(keys); j += len(q) {
		var l float64
		for c, v := range q {
			l += v * keys[j+c]
		}
		e := math.Exp(l / math.Sqrt(float64(len(q))))
		z += e
		for c := range o {
			o[c] += e * keys[j+c]
		}
	}
	for c := range o {
		o[c] /= z
	}
	return o, math.Log(z)
}

func TestAttendNothingButTheSink(t *testing.T) {
	q, sink := tensor.Of([]float32{1, 2}, 1, 2), tensor.Of([]float32{0.5}, 1)
	o, lse := tensor.Of([]float32{9, 9}, 1, 2), tensor.Of([]float32{9}, 1, 1)
	New[float32]().Attend(o, lse, q, sink, 1, view(tensor.New(dtype.F32, 0, 2), nil))
	if got, want := fmt.Sprint(o.F32(), lse.F32()), "[0 0] [0.5]"; got != want {
		t.Errorf("output and lse are %s, want %s", got, want)
	}
}

func TestSinkhorn(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{1, 2, 4, 5} {
		a := random(r, 2, n, n).F64()
		m := newSinkhorn[float64](n, 20).run(a, 1e-6)
		for k := range n {
			var col, row float64
			for j := range n {
				col += m[j*n+k]
				row += m[k*n+j]
			}
			if math.Abs(col-1) > 2e-6 { // a column's last step leaves s/(s+eps)
				t.Errorf("n = %d: column %d sums to %v, want 1", n, k, col)
			}
			if math.Abs(row-1) > 0.1 {
				t.Errorf("n = %d: row %d sums to %v, want about 1", n, k, row)
			}
		}
	}
}

func TestTopExperts(t *testing.T) {
	nan := float32(math.NaN())
	for _, tt := range []struct {
		name   string
		logits []float32
		bias   []float32
		k      int
		want   []int32
	}{
		{"largest first", []float32{0, 3, 1, 2}, nil, 3, []int32{1, 3, 2}},
		{"a tie goes to the smaller", []float32{1, 2, 2, 1}, nil, 3, []int32{1, 2, 0}},
		{"bias chooses", []float32{0, 3, 1, 2}, []float32{9, 0, 5, 0}, 2, []int32{0, 2}},
		{"all equal", []float32{0, 0, 0, 0}, nil, 4, []int32{0, 1, 2, 3}},
		{"NaN is last", []float32{nan, -5, nan, -9}, nil, 3, []int32{1, 3, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var bias *tensor.Tensor
			if tt.bias != nil {
				bias = tensor.Of(tt.bias, 4)
			}
			got := make([]int32, tt.k)
			New[float32]().TopExperts(got, tensor.Of(tt.logits, 1, 4), bias, tt.k)
			if !slices.Equal(got, tt.want) {
				t.Errorf("TopExperts(%v, %v) = %v, want %v", tt.logits, tt.bias, got, tt.want)
			}
		})
	}
}

// Expert 5 in two slots: each slot counts, in the sum and in the weight, so expert 5 weighs 0.5 as expert 12 does.
func TestRouteWeightsOfDuplicates(t *testing.T) {
	logits := empty(1, 16)
	root := func(s float64) float64 { return math.Log(math.Expm1(s * s)) } // softplus(root(s)) = s*s
	logits.F64()[5], logits.F64()[12] = root(0.25), root(0.5)
	w := empty(1, 3)
	New[float64]().RouteWeights(w, logits, []int32{5, 5, 12}, 1)
	for j, want := range []float64{0.25, 0.25, 0.5} {
		if got := w.F64()[j]; math.Abs(got-want) > 1e-14 {
			t.Errorf("slot %d weighs %v, want %v", j, got, want)
		}
	}

	d, dw := empty(1, 16), tensor.New(dtype.F64, 1, 3)
	dw.F64()[0], dw.F64()[1], dw.F64()[2] = 1, 1, 1 // the weights sum to 1 whatever the logits
	New[float64]().RouteWeightsBackward(d, dw, logits, []int32{5, 5, 12}, 1)
	for e, g := range d.F64() {
		if math.Abs(g) > 1e-15 {
			t.Errorf("gradient of logit %d is %v, want 0", e, g)
		}
	}
	dw.F64()[1], dw.F64()[2] = 0, 0
	New[float64]().RouteWeightsBackward(d, dw, logits, []int32{5, 5, 12}, 1)
	if g := d.F64(); !(g[5] > 0 && g[12] < 0) || g[0] != 0 {
		t.Errorf("gradient of logits 5 and 12 is %v and %v, want one up and one down", g[5], g[12])
	}
}

// Where softplus underflows the slope would be 0/0.
func TestRouteWeightsOfNothing(t *testing.T) {
	logits, w, d := tensor.Of([]float32{-200, -300}, 1, 2), tensor.New(dtype.F32, 1, 2), tensor.New(dtype.F32, 1, 2)
	New[float32]().RouteWeights(w, logits, []int32{0, 1}, 1.5)
	New[float32]().RouteWeightsBackward(d, tensor.Of([]float32{1, 2}, 1, 2), logits, []int32{0, 1}, 1.5)
	if got, want := fmt.Sprint(w.F32(), d.F32()), "[0 0] [0 0]"; got != want {
		t.Errorf("weights and gradients are %s, want %s", got, want)
	}
}

func TestIndexTopK(t *testing.T) {
	nan := float32(math.NaN())
	for _, tt := range []struct {
		name string
		keys []float32 // Di = 1: the score of a row is relu of it
		see  []int32
		k    int
		want []int32
	}{
		{"position order", []float32{1, 5, 2, 4}, []int32{0, 1, 2, 3}, 2, []int32{1, 3}},
		{"rows of a pool, not positions", []float32{1, 5, 2, 4}, []int32{3, 0, 1}, 2, []int32{3, 1}},
		{"zeros tie, the earlier wins", []float32{-1, -2, 3, -4}, []int32{0, 1, 2, 3}, 3, []int32{0, 1, 2}},
		{"a tie across the cut", []float32{2, 1, 2, 2}, []int32{3, 2, 1, 0}, 2, []int32{3, 2}},
		{"all when few", []float32{2, 1}, []int32{1, 0}, 2, []int32{1, 0}},
		{"none in sight", []float32{2, 1}, nil, 2, nil},
		{"relu drops a NaN", []float32{nan, 1}, []int32{0, 1}, 1, []int32{1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			one := tensor.Of([]float32{1}, 1, 1)
			keys := view(tensor.Of(tt.keys, len(tt.keys), 1), tt.see)
			got := New[float32]().IndexTopK(one, one, 1, keys, tt.k)
			if !slices.Equal(got.At(0), tt.want) || got.Pool != keys.Pool {
				t.Errorf("IndexTopK over %v of %v keeps %v, want %v", tt.see, tt.keys, got.At(0), tt.want)
			}
		})
	}
}

func TestLogProb(t *testing.T) {
	ninf := float32(math.Inf(-1))
	logits := tensor.Of([]float32{0, 0, ninf, 0, 0, 50, 60, 70, 80, 90}, 2, 5)
	lp, entropy, lse := tensor.New(dtype.F32, 2), tensor.New(dtype.F32, 2), tensor.New(dtype.F32, 2)
	k, next, scale := New[float32](), []int32{3, 4}, []float32{1, 0.5}
	k.LogProb(lp, entropy, lse, logits, next, scale)
	for i, want := range []float64{-math.Log(4), -math.Log1p(math.Exp(-5) + math.Exp(-10) + math.Exp(-15) + math.Exp(-20))} {
		if got := float64(lp.F32()[i]); math.Abs(got-want) > 1e-7 {
			t.Errorf("lp[%d] = %v, want %v", i, got, want)
		}
	}
	if got, want := float64(entropy.F32()[0]), math.Log(4); math.Abs(got-want) > 1e-7 {
		t.Errorf("entropy over four equal tokens and one forbidden is %v, want %v", got, want)
	}
	dlp := tensor.Of([]float32{1, 1}, 2)
	k.LogProbBackward(logits, dlp, dlp, entropy, lse, logits, next, scale) // in place
	if got := logits.F32()[2]; got != 0 {
		t.Errorf("the gradient of a forbidden logit is %v, want 0", got)
	}
}

// The float32 instance runs the float64 one's formula; 3e-6 is some twenty roundings of numbers up to 2.
func TestSingleFollowsDouble(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	const rows, s, dim = 6, 4, 32
	x, z, base, scale := random(r, 1, rows, s, dim), random(r, 1, rows, s*(2+s)), random(r, 1, s*(2+s)), random(r, 1, 3)
	p := kernels.HyperParams{Iters: 20, Eps: 1e-6, NormEps: 1e-6}
	wide := []*tensor.Tensor{empty(rows, s), empty(rows, s), empty(rows, s, s)}
	New[float64]().HyperMap(wide[0], wide[1], wide[2], z, x, base, scale, p)
	narrow := []*tensor.Tensor{tensor.New(dtype.F32, rows, s), tensor.New(dtype.F32, rows, s), tensor.New(dtype.F32, rows, s, s)}
	New[float32]().HyperMap(narrow[0], narrow[1], narrow[2], single(z), single(x), single(base), single(scale), p)
	for i := range wide {
		for j, want := range wide[i].F64() {
			if got := float64(narrow[i].F32()[j]); math.Abs(got-want) > 3e-6 {
				t.Errorf("map %d, element %d: %v in float32, want %v", i, j, got, want)
			}
		}
	}
}

// single returns x in float32.
func single(x *tensor.Tensor) *tensor.Tensor {
	y := tensor.New(dtype.F32, x.Shape...)
	for i, v := range x.F64() {
		y.F32()[i] = float32(v)
	}
	return y
}

func TestPrepare(t *testing.T) {
	k, x, y := New[float32](), tensor.Of([]float32{1, 2}, 1, 2), tensor.New(dtype.F32, 1, 1)
	w := tensor.Of([]float32{3, 4}, 1, 2)
	mustPanic(t, "linear: weight [1, 2] was not prepared", func() { k.Linear(y, x, w, 1) })
	k.Prepare(w)
	layout := w.Layout
	k.Linear(y, x, w, 1)
	if got := y.F32()[0]; got != 11 {
		t.Errorf("product is %v, want 11", got)
	}
	w.F32()[1] = 5
	k.Prepare(w)
	k.Linear(y, x, w, 1)
	if got := y.F32()[0]; got != 13 || w.Layout != layout {
		t.Errorf("product after a change is %v, want 13 from the same memory", got)
	}
	mustPanic(t, "linear: weight [1, 2] was not prepared", func() { New[float64]().Linear(empty(1, 1), empty(1, 2), w, 1) })
}

func mustPanic(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		if got := fmt.Sprint(recover()); got != want {
			t.Errorf("panic %q, want %q", got, want)
		}
	}()
	f()
}

func TestShapesInWords(t *testing.T) {
	k := New[float32]()
	x := func(shape ...int) *tensor.Tensor { return tensor.New(dtype.F32, shape...) }
	w := x(8, 6)
	k.Prepare(w)
	for want, f := range map[string]func(){
		"linear: x is [4, 32], want [4, 6]":         func() { k.Linear(x(4, 8), x(4, 32), w, 1) },
		"linear: w is [8, 6], want [3*N, K]":        func() { k.Linear(x(4, 8), x(4, 6), w, 3) },
		"rms norm: x is [2, 9], want runs of 4":     func() { k.RMSNorm(x(2, 9), x(2, 9), nil, 4, 0) },
		"attend: sink is [3], want [2]":             func() { k.Attend(x(1, 4), x(1, 2), x(1, 4), x(3), 2) },
		"attend: views[0].Lo has 0 entries, want 1": func() { k.Attend(x(1, 4), x(1, 2), x(1, 4), x(2), 2, kernels.View{}) },
		"add: b is nil, want [2, 2]":                func() { k.Add(x(2, 2), x(2, 2), nil) },
		"logprob: next has 1 entries, want 2":       func() { k.LogProb(x(2), nil, x(2), x(2, 3), []int32{0}, []float32{1, 1}) },
		"pool: window 0 has 2 rows, want 1 to 1":    func() { k.Pool(x(1, 3), x(1, 3), false, kernels.View{}, view(x(2, 6), []int32{0, 1})) },
		"expert linear backward: off runs from 0 to 1, want 0 to 2": func() {
			k.ExpertLinearBackward(nil, nil, x(2, 1), x(2, 1), x(1, 1, 1), []int32{0, 1})
		},
	} {
		mustPanic(t, want, f)
	}
}

func Example() {
	k := New[float32]()
	w := tensor.Of([]float32{1, 2, 3, 4}, 2, 2)
	k.Prepare(w)
	x, y := tensor.Of([]float32{10, 1}, 1, 2), tensor.New(dtype.F32, 1, 2)
	k.Linear(y, x, w, 1)
	fmt.Println(y.F32())
	// Output: [12 34]
}
