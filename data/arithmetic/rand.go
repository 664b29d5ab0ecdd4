package arithmetic

import (
	"math/bits"
	"math/rand/v2"
)

// The second half of a generator's seed, so that one seed gives unrelated draws to unrelated uses.
const (
	forProblems = 0x70726f626c656d73 // "problems" in ASCII
	forTeacher  = 0x7465616368657273 // "teachers"
)

// A Rand draws numbers that depend on its seed alone, on every machine and under every release of Go: only the raw
// generator is the library's, the ranges are made here.
type Rand struct {
	pcg rand.PCG
}

// newRand returns the generator of one use under a seed.
func newRand(seed, use uint64) *Rand { return &Rand{pcg: *rand.NewPCG(seed, use)} }

// NewRand returns a generator for a [Teacher].
func NewRand(seed uint64) *Rand { return newRand(seed, forTeacher) }

// Below returns a number from 0 to n-1. It takes one draw; no number is likelier than another by more than n/2^64.
func (r *Rand) Below(n int) int {
	hi, _ := bits.Mul64(r.pcg.Uint64(), uint64(n))
	return int(hi)
}

// Chance reports true with probability q. It takes one draw, also where q is 0 or 1.
func (r *Rand) Chance(q float64) bool { return float64(r.pcg.Uint64()>>11) < q*(1<<53) }
