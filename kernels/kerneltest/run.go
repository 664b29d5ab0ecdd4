package kerneltest

import (
	"fmt"
	"sync"
	"testing"

	"furlong/kernels"
	"furlong/kernels/ref"
	"furlong/tensor"
)

// Run holds b against the contract of package kernels and the bits of ref.
func Run(t *testing.T, b kernels.Backend) {
	for _, family := range families(b) {
		t.Run(family.name, func(t *testing.T) {
			for _, c := range family.calls {
				c.check(t, b)
				c.checkShapes(t, b)
			}
		})
	}
	for _, tt := range []struct {
		name string
		f    func(reporter, kernels.Backend)
	}{
		{"formats", testFormats},
		{"codes against numbers", testCodes},
		{"all codes", testAllCodes},
		{"round", testRound},
		{"formats refused", testFormatsRefused},
		{"nan", testNaN},
		{"tokens of experts", testTokensOfExperts},
		{"zero", testZero},
		{"prepare", testPrepare},
		{"in place", testInPlace},
		{"adamw", testAdamW},
		{"ties", testTies},
		{"blind queries", testBlind},
		{"pages", testPages},
		{"all numbers", testAllNumbers},
		{"goroutines", testGoroutines},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.f(t, b) })
	}
}

// A family is the calls of one interface of package kernels.
type family struct {
	name  string
	calls []call
}

func families(k kernels.Backend) []family {
	return []family{
		{"linear", linearCalls(newGen(1))},
		{"norm", normCalls(newGen(2))},
		{"attention", attentionCalls(newGen(3), k)},
		{"kept scores", keeperCalls(newGen(9), k)},
		{"compress", compressCalls(newGen(4))},
		{"hyper", hyperCalls(newGen(5))},
		{"moe", moeCalls(newGen(6))},
		{"head", headCalls(newGen(7))},
		{"codes", codedCalls(newGen(8))},
		{"rows of sixteens", sixteenCalls(newGen(10), k)},
	}
}

// RunThreads runs calls that are large enough to share out with 1, 2 and 3 threads, each three times, and wants the bits of ref.
func RunThreads(t *testing.T, open func(threads int) kernels.Backend) {
	calls := largeCalls(newGen(41))
	var want []result
	for _, c := range calls {
		want = append(want, c.all(t, ref.New[float32]()))
	}
	for threads := 1; threads <= 3; threads++ {
		b := open(threads)
		for range 3 {
			for i, c := range calls {
				c.same(t, fmt.Sprintf("with %d threads", threads), c.all(t, b), want[i], 0, c.rows)
			}
		}
	}
}

// largeCalls have a million multiply-adds or more where ref does them in milliseconds.
func largeCalls(g gen) []call {
	x, w, wide := g.normal(1, 67, 300), g.normal(1, 150, 300), bf16(g.normal(1, 6*150, 300))
	experts, off := g.normal(1, 9, 130, 70), g.runs(200, 9)
	rows := g.normal(1, 200, 70)
	attend := newAttention(g, 120, 4, 64, 40, 90, 1)
	pool := newPooling(g, 60, 16, 96, true, 1)
	gu, scale := g.normal(2, 130, 2*300), g.normal(1, 130)
	logits, choice := g.normal(2, 500, 64), g.ints(500*6, 64)
	calls := []call{
		linear(x, w, 1), linearBackward(g, x, w, 1), linear(x.Slice(0, 1), wide, 1), linearBackward(g, g.normal(1, 67, 6*300), wide, 6),
		expertLinear(rows, experts, off), expertLinearBackward(g, rows, experts, off),
		rmsNorm(g.normal(1, 300, 512), g.normal(1, 512), 512), rmsNormBackward(g, g.normal(1, 300, 512), g.normal(1, 512), 512),
		attend.forward(), attend.backward(g, ref.New[float32]()), attend.keeping(), attend.kept(g, ref.New[float32]()), indexTopK(g, 90, 8, 32, 200, 20, 1),
		pool.forward(), pool.backward(g),
		hyperMap(g, 300, 4, 96, 20, 1), hyperMapBackward(g, 300, 4, 96, 20, 1), lastMap(g, 300, 4, 96), lastMapBackward(g, 300, 4, 96),
		topExperts(logits, g.normal(1, 64), 6), routeWeights(logits, choice, 6), routeWeightsBackward(g, logits, choice, 6),
		swiglu(gu, scale, 3), swigluBackward(g, gu, scale, 3),
		embed(g.normal(1, 400, 96), g.ints(300, 400), 4), embedBackward(g, 300, 4, 96, 50), angles(g, 400, 32),
	}
	calls = append(calls, rope(g, 300, 4, 80, 8, true)...)
	calls = append(calls, largeCodedCalls(g)...)
	calls = append(calls, streamCalls(g, 300, 4, 96)...)
	calls = append(calls, slotCalls(g, 200, 6, 96)...)
	calls = append(calls, gatherCalls(g, 500, 90, 96)...)
	return append(calls, logProbCalls(g, 70, 3001, 3)...)
}

// testAllNumbers sends float32 numbers of all exponents through what is made of exp and log.
func testAllNumbers(t reporter, k kernels.Backend) {
	g := newGen(51)
	x := every(100_000)
	n := len(x) / 2 * 2
	gu := tensor.Of(append(append([]float32(nil), x[:n]...), g.normal(1, n).F32()...), 1, 2*n)
	logits := tensor.Of(x, len(x), 1)
	pairs := tensor.Of(x[:n], n/2, 2)
	one := make([]float32, n)
	next := make([]int32, n)
	for i := range one {
		one[i] = 1
	}
	for _, c := range []call{
		swiglu(gu, nil, 0), swiglu(gu, nil, 10), swigluBackward(g, gu, nil, 0), swigluBackward(g, gu, nil, 10),
		routeWeights(logits, make([]int32, len(x)), 1), routeWeightsBackward(g, logits, make([]int32, len(x)), 1),
		rmsNorm(tensor.Of(x, len(x), 1), nil, 1), rmsNorm(pairs, nil, 2),
		logProbOf(pairs, next[:n/2], one[:n/2]),
	} {
		c.same(t, "against ref", c.all(t, k), c.all(t, ref.New[float32]()), 0, c.rows)
	}
}

// RunBeside is the part of Run that calls a backend from several goroutines at once, with calls that are large enough to share out: what the race detector,
// under which all of Run takes minutes, can say something about.
func RunBeside(t *testing.T, b kernels.Backend) { testGoroutines(t, b) }

// testGoroutines runs all calls at once in several goroutines, which begin at different calls, and wants the bits that a call has alone. With -short two goroutines
// must agree.
func testGoroutines(t reporter, k kernels.Backend) {
	calls := largeCalls(newGen(61))
	goroutines := 3
	if testing.Short() {
		goroutines = 2
	}
	got := make([][]result, goroutines)
	var wait sync.WaitGroup
	for g := range got {
		got[g] = make([]result, len(calls))
		wait.Go(func() {
			for i := range calls {
				i = (i + g*len(calls)/goroutines) % len(calls)
				got[g][i] = calls[i].all(t, k)
			}
		})
	}
	wait.Wait()
	for i, c := range calls {
		want := got[0][i]
		if !testing.Short() {
			want = c.all(t, k)
		}
		for g := range got {
			c.same(t, "beside other goroutines", got[g][i], want, 0, c.rows)
		}
	}
}
