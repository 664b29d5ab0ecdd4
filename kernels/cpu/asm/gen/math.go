package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
)

// The functions of kernels/ref, a vector at a time: the same operations in the same order. Their constants are repeated here,
// since the generator is a module of its own; the tests of package cpu compare all results.
const (
	expMax   = 88.72283
	expMin   = -87.33654
	log2E    = 1.44269504088896340736
	ln2Hi    = 0.693147182464599609375
	ln2Lo    = -1.90465429995776804525e-9
	expMagic = 12582912
	logSplit = 0x3f3504f3
	softMax  = 20 // above it softplus is the identity
)

var (
	expPoly = []float32{0.499999934322, 0.166665203991, 0.0416683907697, 0.00836874510461, 0.00138145410565}
	logPoly = []float32{
		0.333333126042, -0.250000095987, 0.200021186527, -0.166679958906, 0.14219552507,
		-0.124055883092, 0.118881605785, -0.116756550522, 0.0674664838093,
	}
)

// horner returns c[0] + x*(c[1] + ...).
func (g *gen) horner(x vec, c []float32) vec {
	q := g.load(g.all(c[len(c)-1]))
	for i := len(c) - 2; i >= 0; i-- {
		g.VFMADD213PS(g.all(c[i]), x, q)
	}
	return q
}

var inf = float32(math.Inf(1))

// settleExp settles the constants of expBelow, and settleSigmoid those of exp and sigmoid too.
func (g *gen) settleExp() {
	g.settle(expPoly...)
	g.settle(expMagic, log2E, ln2Hi, ln2Lo, 1, expMin)
}

func (g *gen) settleSigmoid() {
	g.settleExp()
	g.settle(expMax, inf, float32(math.Copysign(0, -1)))
}

// exp returns e^x.
func (g *gen) exp(x vec) vec {
	y := g.expBelow(x)
	return g.pick(g.compare(isGreater, x, g.all(expMax)), g.all(inf), y)
}

// expBelow returns e^x of numbers that are not above expMax.
func (g *gen) expBelow(x vec) vec {
	n := g.load(g.all(expMagic))
	g.fma(n, x, g.all(log2E))
	g.VSUBPS(g.all(expMagic), n, n)
	r := g.clone(x)
	g.VFNMADD231PS(g.all(ln2Hi), n, r)
	g.VFNMADD231PS(g.all(ln2Lo), n, r)
	y := g.horner(r, expPoly)
	g.VFMADD213PS(r, g.mul(r, r), y)
	g.VADDPS(g.all(1), y, y)
	g.VCVTPS2DQ(n, n) // of NaN it is 1<<31, which the shift drops
	g.VPSLLD(operand.Imm(exponentOne), n, n)
	g.VPADDD(n, y, y)
	g.keep(g.compare(notLess, x, g.all(expMin)), y)
	return y
}

// sigmoid returns 1/(1 + e^-x).
func (g *gen) sigmoid(x vec) vec {
	minus := g.vector()
	g.VXORPS(g.bits(signBit), x, minus)
	return g.over(g.add(g.exp(minus), g.all(1)))
}

// logNormal returns log x of positive normal numbers, times 2^e.
func (g *gen) logNormal(x, e vec) vec {
	k, f := g.YMM(), g.YMM()
	g.VPSUBD(g.bits(logSplit), x, f)
	g.VPSRAD(operand.Imm(exponentOne), f, k)
	g.VCVTDQ2PS(k, k)
	g.VADDPS(k, e, k)
	g.VPAND(g.bits(mantissaBits), f, f)
	g.VPADDD(g.bits(logSplit), f, f)
	g.VSUBPS(g.all(1), f, f)
	q := g.horner(f, logPoly)
	z := g.mul(f, f)
	y := g.mul(g.mul(q, f), z)
	g.fma(y, k, g.all(ln2Lo))
	g.fma(y, z, g.all(-0.5))
	g.VADDPS(f, y, y)
	g.fma(y, k, g.all(ln2Hi))
	return y
}

// log returns log x.
func (g *gen) log(x vec) vec {
	tiny := g.compare(isLess, x, g.all(0x1p-126))
	e := g.load(g.all(-23))
	g.keep(tiny, e)
	y := g.logNormal(g.pick(tiny, g.mul(x, g.all(0x1p23)), x), e)
	y = g.pick(g.compare(isGreater, x, g.all(math.MaxFloat32)), x, y)
	zero := g.zero()
	y = g.pick(g.compare(isEqual, x, zero), g.all(float32(math.Inf(-1))), y)
	return g.pick(g.compare(atLeast, x, zero), y, g.load(g.all(float32(math.NaN()))))
}

// rootSoftplus returns sqrt(softplus(x)).
func (g *gen) rootSoftplus(x vec) vec {
	e := g.exp(x)
	u := g.add(e, g.all(1))
	rest := g.div(g.sub(e, g.sub(u, g.all(1))), u)
	y := g.add(g.logNormal(u, g.zero()), rest)
	y = g.pick(g.compare(isGreater, x, g.all(softMax)), x, y)
	g.VSQRTPS(y, y)
	return y
}

// maps writes functions that map n numbers, n a multiple of eight.
func (g *gen) maps() {
	for _, f := range []struct {
		name, doc string
		of        func(vec) vec
	}{
		{"Exp", "e^x", g.exp},
		{"Log", "log x", g.log},
		{"Sigmoid", "1/(1+e^-x)", g.sigmoid},
		{"RootSoftplus", "sqrt(log(1+e^x))", g.rootSoftplus},
	} {
		g.fn(f.name, "(y, x *float32, n int)", f.name+" sets n of y to "+f.doc+"; n is a multiple of eight.")
		y, x, n := g.arg("y"), g.arg("x"), g.bytes("n")
		g.span(n, 32, func(i gp) { g.store(f.of(g.load(idx(x, i, 1, 0))), idx(y, i, 1, 0)) })
		g.end()
	}
	g.fn("Add", "(y, a, b *float32, n int)", "Add sets n of y to a + b; n is a multiple of eight.")
	y, a, b, n := g.arg("y"), g.arg("a"), g.arg("b"), g.bytes("n")
	g.span(n, 32, func(i gp) { g.store(g.add(g.load(idx(a, i, 1, 0)), idx(b, i, 1, 0)), idx(y, i, 1, 0)) })
	g.end()
}
