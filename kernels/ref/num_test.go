package ref

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// bigFMA is the exact a*b + c, rounded once. The inputs are finite.
func bigFMA(a, b, c float32) float32 {
	x, y, z := big.NewFloat(float64(a)), big.NewFloat(float64(b)), big.NewFloat(float64(c))
	p := new(big.Float).SetPrec(1000).Mul(x, y)
	if p.Sign() == 0 || p.Add(p, z).Sign() == 0 {
		return a*b + c // exact, and the machine knows the signs of zeros
	}
	f, _ := p.Float32()
	return f
}

func sameBits(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

// anyFloat returns a float32 of any exponent but those of infinities.
func anyFloat(r *rand.Rand) float32 {
	for {
		f := math.Float32frombits(r.Uint32())
		if !math.IsInf(float64(f), 0) && f == f {
			return f
		}
	}
}

func TestFMARandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	near := func() float32 { return float32(r.NormFloat64()) }
	pick := []func() (a, b, c float32){
		func() (a, b, c float32) { return anyFloat(r), anyFloat(r), anyFloat(r) },
		func() (a, b, c float32) { return near(), near(), near() },
		func() (a, b, c float32) { a, b = near(), near(); return a, b, -a * b },
		func() (a, b, c float32) { return near(), near() * 0x1p-25, near() },
		func() (a, b, c float32) { return near() * 0x1p-70, near() * 0x1p-70, near() * 0x1p-130 },
		// few set bits: sums that lie half way, or next to it
		func() (a, b, c float32) {
			a = 1 + float32(r.IntN(8))*0x1p-12
			b = 1 + float32(r.IntN(8))*0x1p-12
			return a, b * float32(math.Ldexp(1, r.IntN(60)-50)), float32(1+r.IntN(3)) * (1 + float32(r.IntN(4))*0x1p-23)
		},
	}
	for i := range 600_000 {
		a, b, c := pick[i%len(pick)]()
		if got, want := FMA(a, b, c), bigFMA(a, b, c); !sameBits(got, want) {
			t.Fatalf("FMA(%b, %b, %b) = %b, want %b", a, b, c, got, want)
		}
	}
}

func TestFMASpecial(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	zero := float32(math.Copysign(0, -1))
	const tiny, huge = 0x1p-149, math.MaxFloat32
	for _, tt := range []struct{ a, b, c, want float32 }{
		{0, 0, 0, 0},
		{zero, 1, zero, zero},
		{zero, 1, 0, 0},
		{1, 1, -1, 0},
		{inf, 1, 1, inf},
		{1, 1, -inf, -inf},
		{inf, 0, 1, nan},
		{inf, 1, -inf, nan},
		{nan, 0, 0, nan},
		{0, 0, nan, nan},
		{tiny, 0.5, 0, 0},                          // half of the smallest: a tie, to even
		{tiny, 0.5, tiny, 2 * tiny},                // 1.5 of the smallest
		{tiny, tiny, tiny, tiny},                   // far below a half
		{-tiny, tiny, 0, zero},                     // rounds to a negative zero
		{huge, 1, 0x1p102, huge},                   // under half an ulp above the largest
		{huge, 1, 0x1p103, inf},                    // half an ulp above it
		{0x1p127, 2, -0x1p127, 0x1p127},            // the product alone overflows
		{1 + 0x1p-12, 1 + 0x1p-12, 0, 1 + 0x1p-11}, // a tie at 2^-24, to even
		{1 + 0x1p-23, 1, 0x1p-24, 1 + 0x1p-22},     // a tie, up to even
		{0x1p-30, 0x1p-40, 1 + 0x1p-23, 1 + 0x1p-23},
		{0x1.000002p0, 0x1p-24, 1, 1 + 0x1p-23}, // just above a half: float64 rounds it to the half
		{0x1p-12 + 0x1p-35, 0x1p-12, 1, 1 + 0x1p-23},
		{0x1p-12 - 0x1p-36, 0x1p-12, 1, 1},
	} {
		if got := FMA(tt.a, tt.b, tt.c); !sameBits(got, tt.want) {
			t.Errorf("FMA(%b, %b, %b) = %b, want %b", tt.a, tt.b, tt.c, got, tt.want)
		}
	}
}

// TestLanes writes the order of a sum out once more, lane by lane.
func TestLanes(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for n := range 40 {
		a, b := make([]float32, n), make([]float32, n)
		for i := range a {
			a[i], b[i] = float32(r.NormFloat64()), float32(r.NormFloat64())
		}
		var dot, sum [8]float32
		for lane := range 8 {
			for i := lane; i < n; i += 8 {
				dot[lane] = bigFMA(a[i], b[i], dot[lane])
				sum[lane] += a[i]
			}
		}
		fold := func(s [8]float32) float32 {
			return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
		}
		if got, want := Dot8(a, b), fold(dot); got != want {
			t.Errorf("Dot8 of %d = %v, want %v", n, got, want)
		}
		if got, want := Sum8(a), fold(sum); got != want {
			t.Errorf("Sum8 of %d = %v, want %v", n, got, want)
		}
	}
}

// ulps returns how far got is from want in units of the last place of float32.
func ulps(got float32, want float64) float64 {
	_, e := math.Frexp(want)
	return math.Abs(float64(got)-want) / math.Ldexp(1, max(e, -125)-24)
}

// sweep calls f on about n numbers of [lo, hi], evenly and with all exponents.
func sweep(lo, hi float32, n int, f func(float32)) {
	for i := range n {
		f(lo + (hi-lo)*float32(i)/float32(n))
	}
	for b := uint32(1); b < 0x7f800000; b += 0x7f800000 / uint32(n) {
		for _, x := range []float32{math.Float32frombits(b), -math.Float32frombits(b)} {
			if x >= lo && x <= hi {
				f(x)
			}
		}
	}
	f(lo)
	f(hi)
}

func TestAccuracy(t *testing.T) {
	softplus := func(x float64) float64 {
		if x > 20 {
			return x
		}
		return math.Log1p(math.Exp(x))
	}
	for _, tt := range []struct {
		name   string
		f      func(float32) float32
		exact  func(float64) float64
		lo, hi float32
		limit  float64 // ulps; what was seen, rounded up
	}{
		{"exp", Exp[float32], math.Exp, ExpMin, ExpMax, 1},
		{"log", Log[float32], math.Log, 0x1p-149, math.MaxFloat32, 1},
		{"log near 1", Log[float32], math.Log, 0.5, 2, 1},
		{"sigmoid", Sigmoid[float32], func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, -87, 100, 2.5},
		{"softplus", Softplus[float32], softplus, -87.3, 40, 2.5},
		{"sqrt", Sqrt[float32], math.Sqrt, 0, math.MaxFloat32, 0.5},
		{"sin", func(x float32) float32 { s, _ := Sincos(x); return s }, math.Sin, 0, 2e6, 0.501},
		{"cos", func(x float32) float32 { _, c := Sincos(x); return c }, math.Cos, 0, 2e6, 0.501},
	} {
		var worst float64
		var at float32
		sweep(tt.lo, tt.hi, 400_000, func(x float32) {
			if u := ulps(tt.f(x), tt.exact(float64(x))); !(u <= worst) {
				worst, at = u, x
			}
		})
		t.Logf("%s: %.3f ulps at %v", tt.name, worst, at)
		if !(worst <= tt.limit) {
			t.Errorf("%s(%v) = %v is %v ulps from %v, want at most %v", tt.name, at, tt.f(at), worst, tt.exact(float64(at)), tt.limit)
		}
	}
}

func TestEdges(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, tt := range []struct {
		name    string
		f       func(float32) float32
		x, want float32
	}{
		{"exp", Exp[float32], 0, 1},
		{"exp", Exp[float32], inf, inf},
		{"exp", Exp[float32], -inf, 0},
		{"exp", Exp[float32], nan, nan},
		{"exp", Exp[float32], math.Nextafter32(ExpMax, inf), inf},
		{"exp", Exp[float32], math.Nextafter32(ExpMin, -inf), 0},
		{"log", Log[float32], 1, 0},
		{"log", Log[float32], 0, -inf},
		{"log", Log[float32], -1, nan},
		{"log", Log[float32], -inf, nan},
		{"log", Log[float32], inf, inf},
		{"log", Log[float32], nan, nan},
		{"sigmoid", Sigmoid[float32], 0, 0.5},
		{"sigmoid", Sigmoid[float32], inf, 1},
		{"sigmoid", Sigmoid[float32], -inf, 0},
		{"sigmoid", Sigmoid[float32], nan, nan},
		{"softplus", Softplus[float32], inf, inf},
		{"softplus", Softplus[float32], 20.5, 20.5},
		{"softplus", Softplus[float32], -88, 0},
		{"softplus", Softplus[float32], -inf, 0},
		{"softplus", Softplus[float32], nan, nan},
	} {
		if got := tt.f(tt.x); !sameBits(got, tt.want) {
			t.Errorf("%s(%v) = %v, want %v", tt.name, tt.x, got, tt.want)
		}
	}
	if got := Exp(ExpMin); got < 0x1p-126 {
		t.Errorf("Exp(%v) = %v is subnormal", ExpMin, got)
	}
	if got := Exp(ExpMax); got > math.MaxFloat32 {
		t.Errorf("Exp(%v) = %v is infinite", ExpMax, got)
	}
}

func BenchmarkDot8(b *testing.B) {
	x := make([]float32, 1024)
	for i := range x {
		x[i] = 1 / float32(i+1)
	}
	var sum float32
	for b.Loop() {
		sum += Dot8(x, x)
	}
	b.ReportMetric(2*1024*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

func BenchmarkAxpy(b *testing.B) {
	x, y := make([]float32, 1024), make([]float32, 1024)
	for i := range x {
		x[i] = 1 / float32(i+1)
	}
	for b.Loop() {
		axpy(y, 0.37, x)
	}
	b.ReportMetric(2*1024*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}
