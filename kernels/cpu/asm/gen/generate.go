package main

import (
	"fmt"
	"regexp"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
	"github.com/mmcloughlin/avo/reg"
)

// A gen builds the functions of the file one after the other.
type gen struct {
	*build.Context
	labels int
	consts map[string]operand.Mem
}

// generate returns the assembly and the stubs.
func generate() (asm, stubs []byte, err error) {
	g := &gen{Context: build.NewContext(), consts: map[string]operand.Mem{}}
	g.ConstraintExpr("amd64")
	g.pause()
	g.gemm()
	g.rows()

	f, err := g.Result()
	if err != nil {
		return nil, nil, err
	}
	if err := pass.Compile.Execute(f); err != nil {
		return nil, nil, err
	}
	cfg := printer.Config{Name: "gen", Pkg: "asm"}
	if asm, err = printer.NewGoAsm(cfg).Print(f); err != nil {
		return nil, nil, err
	}
	if stubs, err = printer.NewStubs(cfg).Print(f); err != nil {
		return nil, nil, err
	}
	return asm, stubs, refuseWide(asm)
}

var wide = regexp.MustCompile(`\b(Z\d+|[XY](1[6-9]|2\d|3[01])|K[0-7])\b`)

// refuseWide returns an error if the assembly names a register that only AVX-512 has: the library takes Y16 and
// up when a function needs more than sixteen, and such a function dies on the machines it is for.
func refuseWide(asm []byte) error {
	if r := wide.Find(asm); r != nil {
		return fmt.Errorf("assembly uses %s, want AVX2 registers only", r)
	}
	return nil
}

// fn starts a function. args is its Go signature without "func".
func (g *gen) fn(name, args string, doc ...string) {
	g.Function(name)
	g.Attributes(attr.NOSPLIT)
	g.SignatureExpr("func" + args)
	g.Pragma("noescape")
	g.Doc(doc...)
}

// end closes a function.
func (g *gen) end() {
	g.VZEROUPPER()
	g.RET()
}

// arg loads a named argument into a new general register.
func (g *gen) arg(name string) reg.GPVirtual {
	return g.Load(g.Param(name), g.GP64()).(reg.GPVirtual)
}

// label returns a new label name.
func (g *gen) label(name string) string {
	g.labels++
	return fmt.Sprintf("%s%d", name, g.labels)
}

// ymms returns n new vector registers.
func (g *gen) ymms(n int) []reg.VecVirtual {
	v := make([]reg.VecVirtual, n)
	for i := range v {
		v[i] = g.YMM()
	}
	return v
}

// at is memory at base+disp.
func at(base reg.Register, disp int) operand.Mem { return operand.Mem{Base: base, Disp: disp} }

// idx is memory at base+index*scale+disp.
func idx(base, index reg.Register, scale uint8, disp int) operand.Mem {
	return operand.Mem{Base: base, Index: index, Scale: scale, Disp: disp}
}
