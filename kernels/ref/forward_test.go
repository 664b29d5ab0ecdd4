package ref

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/tensor"
)

// near reports elements of got that differ from want by more than rounding.
func near(t *testing.T, what string, got *tensor.Tensor, want []float64) {
	t.Helper()
	for i, w := range want {
		if g := got.F64()[i]; !(math.Abs(g-w) <= 1e-12*(1+math.Abs(w))) {
			t.Errorf("%s[%d] is %v, want %v", what, i, g, w)
		}
	}
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func TestRoPETurns(t *testing.T) {
	x, y := tensor.Of([]float32{9, 1, 0, 8, 0, 1}, 1, 6), tensor.New(dtype.F32, 1, 6)
	cos, sin := tensor.Of([]float32{0}, 1, 1), tensor.Of([]float32{1}, 1, 1)
	for inverse, want := range map[bool]string{false: "[9 0 1 8 -1 0]", true: "[9 0 -1 8 1 0]"} {
		New[float32]().RoPE(y, x, cos, sin, 3, inverse)
		if got := fmt.Sprint(y.F32()); got != want {
			t.Errorf("a quarter turn, inverse %v, of two heads gives %s, want %s", inverse, got, want)
		}
	}
}

// The float32 angle is a float32 product: at a million it differs from the exact one.
func TestAnglesRoundTheProduct(t *testing.T) {
	cos, sin := tensor.New(dtype.F32, 1, 1), tensor.New(dtype.F32, 1, 1)
	pos, freq := float32(1_000_003), float32(0.7)
	New[float32]().Angles(cos, sin, []int32{1_000_003}, []float32{freq})
	s, c := math.Sincos(float64(pos * freq))
	if sin.F32()[0] != float32(s) || cos.F32()[0] != float32(c) {
		t.Errorf("angle %v: %v and %v, want %v and %v", pos*freq, cos.F32()[0], sin.F32()[0], c, s)
	}
}

func TestRMSNormByHand(t *testing.T) {
	x, w, y := random(rand.New(rand.NewPCG(1, 1)), 1, 2, 6), random(rand.New(rand.NewPCG(2, 2)), 1, 3), empty(2, 6)
	var want []float64
	for i := 0; i < 12; i += 3 {
		v := x.F64()[i : i+3]
		rms := math.Sqrt((v[0]*v[0]+v[1]*v[1]+v[2]*v[2])/3 + 0.5)
		for j := range v {
			want = append(want, w.F64()[j]*v[j]/rms)
		}
	}
	New[float64]().RMSNorm(y, x, w, 3, 0.5)
	near(t, "y", y, want)
}

func TestSwiGLUByHand(t *testing.T) {
	gu, w, y := empty(2, 4), empty(2), empty(2, 2)
	copy(gu.F64(), []float64{3, -7, 5, -4, 0.5, 1, -1, 1.5})
	copy(w.F64(), []float64{10, 1})
	New[float64]().SwiGLU(y, gu, w, 2) // gates 3 and -7 with ups 5 and -4: only the gate has no lower bound
	near(t, "y", y, []float64{2 * sigmoid(2) * 2 * 10, -7 * sigmoid(-7) * -2 * 10, 0.5 * sigmoid(0.5) * -1, sigmoid(1) * 1.5})
	New[float64]().SwiGLU(y, gu, nil, 0)
	near(t, "y without clamps", y, []float64{3 * sigmoid(3) * 5, -7 * sigmoid(-7) * -4})
}

// pooledByHand is sum of softmax(gate)*value.
func pooledByHand(values, gates []float64) (y float64) {
	var z float64
	for i, g := range gates {
		z += math.Exp(g)
		y += math.Exp(g) * values[i]
	}
	return y / z
}

func TestPoolByHand(t *testing.T) {
	const m, d = 2, 3
	r := rand.New(rand.NewPCG(13, 14))
	raw, bias, y := random(r, 1, 4, 2*d), random(r, 1, m, d), empty(2, d)
	New[float64]().Pool(y, bias, false, kernels.View{}, view(raw, []int32{0, 1}, []int32{3, 2}))
	at := func(x *tensor.Tensor, row int32, channel int) float64 { return x.F64()[int(row)*x.Dim()+channel] }
	var want []float64
	for _, rows := range [][]int32{{0, 1}, {3, 2}} {
		for c := range d {
			var values, gates []float64
			for s, r := range rows {
				values = append(values, at(raw, r, c))
				gates = append(gates, at(raw, r, d+c)+at(bias, int32(s), c))
			}
			want = append(want, pooledByHand(values, gates))
		}
	}
	near(t, "plain", y, want)

	// Overlapping: [value a | value b | gate a | gate b]. Entry 1 pools half a of rows 0 and 1, half b of rows 2 and 3.
	raw, bias, want = random(r, 1, 4, 4*d), random(r, 1, m, 2*d), nil
	New[float64]().Pool(y, bias, true, view(raw, nil, []int32{0, 1}), view(raw, []int32{0, 1}, []int32{2, 3}))
	for entry, own := range [][]int32{{0, 1}, {2, 3}} {
		for c := range d {
			var values, gates []float64
			for s := range int32(2 * entry) {
				values = append(values, at(raw, s, c))
				gates = append(gates, at(raw, s, 2*d+c)+at(bias, s, c))
			}
			for s, r := range own {
				values = append(values, at(raw, r, d+c))
				gates = append(gates, at(raw, r, 3*d+c)+at(bias, int32(s), d+c))
			}
			want = append(want, pooledByHand(values, gates))
		}
	}
	near(t, "overlapping", y, want)
}

// TestHyperMapByHand follows the published formulas step by step, dividing where the kernel multiplies by a reciprocal.
func TestHyperMapByHand(t *testing.T) {
	const n, dim, eps = 3, 4, 1e-3
	r := rand.New(rand.NewPCG(15, 16))
	x, z, base, scale := random(r, 1, 1, n, dim), random(r, 1, 1, n*(2+n)), random(r, 1, n*(2+n)), random(r, 1, 3)
	pre, post, comb := empty(1, n), empty(1, n), empty(1, n, n)
	p := kernels.HyperParams{Iters: 4, Eps: eps, NormEps: 0.1}
	New[float64]().HyperMap(pre, post, comb, z, x, base, scale, p)

	var square float64
	for _, v := range x.F64() {
		square += v * v
	}
	rho := 1 / math.Sqrt(square/(n*dim)+0.1)
	a := make([]float64, n*(2+n))
	for i := range a {
		a[i] = z.F64()[i]*rho*scale.F64()[min(i/n, 2)] + base.F64()[i]
	}
	var wantPre, wantPost []float64
	for j := range n {
		wantPre = append(wantPre, sigmoid(a[j])+eps)
		wantPost = append(wantPost, 2*sigmoid(a[n+j]))
	}
	near(t, "pre", pre, wantPre)
	near(t, "post", post, wantPost)

	m := make([]float64, n*n)
	for j := range n {
		var sum float64
		for k := range n {
			sum += math.Exp(a[2*n+j*n+k])
		}
		for k := range n {
			m[j*n+k] = math.Exp(a[2*n+j*n+k])/sum + eps
		}
	}
	divide := func(index func(line, i int) int) {
		for line := range n {
			var sum float64
			for i := range n {
				sum += m[index(line, i)]
			}
			for i := range n {
				m[index(line, i)] /= sum + eps
			}
		}
	}
	column, row := func(k, j int) int { return j*n + k }, func(j, k int) int { return j*n + k }
	divide(column)
	for range 3 {
		divide(row)
		divide(column)
	}
	near(t, "comb", comb, m)
}

// The first index of comb is the source stream.
func TestExpandDirection(t *testing.T) {
	x, o := tensor.Of([]float32{1, 2, 30, 40}, 1, 2, 2), tensor.Of([]float32{500, 600}, 1, 2)
	post, comb := tensor.Of([]float32{1, 2}, 1, 2), tensor.Of([]float32{0, 1, 0, 0}, 1, 2, 2) // stream 0 goes to stream 1
	y := tensor.New(dtype.F32, 1, 2, 2)
	New[float32]().Expand(y, x, o, post, comb)
	if got, want := fmt.Sprint(y.F32()), "[500 600 1001 1202]"; got != want {
		t.Errorf("streams are %s, want %s", got, want)
	}
	c := tensor.New(dtype.F32, 1, 2)
	New[float32]().Collapse(c, x, post)
	if got, want := fmt.Sprint(c.F32()), "[61 82]"; got != want {
		t.Errorf("collapsed streams are %s, want %s", got, want)
	}
}

// Two tokens in two slots each, sorted to places 2 0 and 3 1.
func TestSlots(t *testing.T) {
	k, rows := New[float32](), []int32{2, 0, 3, 1}
	x, slots := tensor.Of([]float32{1, 2}, 2, 1), tensor.New(dtype.F32, 4, 1)
	k.Dispatch(slots, x, rows, 2)
	if got, want := fmt.Sprint(slots.F32()), "[1 2 1 2]"; got != want {
		t.Errorf("dispatched rows are %s, want %s", got, want)
	}
	k.Combine(x, tensor.Of([]float32{10, 200, 30, 400}, 4, 1), rows, 2)
	if got, want := fmt.Sprint(x.F32()), "[41 602]"; got != want {
		t.Errorf("combined rows are %s, want %s", got, want)
	}
}
