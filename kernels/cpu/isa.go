package cpu

import "furlong/kernels/cpu/asm"

// An isa is the instruction set that does the arithmetic. All give the same bits.
type isa int

const (
	plain  isa = iota // Go
	avx2              // vectors of eight
	avx512            // vectors of sixteen where that pays, else of eight
)

// best returns the fastest of this machine.
func best() isa {
	switch {
	case asm.Wide():
		return avx512
	case asm.Available():
		return avx2
	}
	return plain
}

// simd reports whether i is assembly.
func (i isa) simd() bool { return i != plain }

func (i isa) String() string { return [...]string{"go", "avx2", "avx512"}[i] }

// takes reports whether rows of n are whole vectors of sixteen that i has.
func (i isa) takes(n int) bool { return i == avx512 && n%16 == 0 }

// fours reports whether attention takes what it has for n rows and four heads by four rows: fewer than eight are faster by two.
func (i isa) fours(n int) bool { return i == avx512 && n >= 8 }

// abreast returns how many panels a tile of so many rows takes at once.
func (i isa) abreast(rows int) int {
	switch {
	case rows == 1 || i == avx512:
		return widest
	case rows <= 3:
		return 2
	}
	return 1
}

// mostWork is the multiply-adds of one call of assembly: about 40 microseconds. A single panel may be more, if it is deep.
func (i isa) mostWork() int {
	if i == avx512 {
		return 1 << 22
	}
	return 1 << 21
}

// tall returns the rows of the tallest tile of so many vectors.
func (i isa) tall(vecs int) int {
	if vecs == 3 && i != avx512 {
		return 4
	}
	return tallest
}
