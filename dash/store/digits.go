package store

import (
	"math"

	"furlong/metrics"
)

// The powers of ten that a float64 holds exactly.
var tens = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

const (
	maxDigits = 17   // significant digits that decimal judges; the shortest text of a float64 never has more
	sure      = 1e-9 // how far from the middle a comparison must be, in parts of half a unit in the last place; its errors are below 1e-14
)

// A decimal is the text of a number, taken apart: mantissa·10^-places, with so many significant digits.
type decimal struct {
	mantissa uint64
	places   int
	digits   int
	minus    bool
}

// readNumber reads the JSON number that b begins with, and where it ends. plain says that it is written in the digits that rows have: the fewest that read back
// as the same number. Only a number with an exponent, or one whose digits decide nothing quickly, is left to the standard library. n is 0 if there is no number.
func readNumber(b, buf []byte) (v float64, n int, plain bool) {
	d, n := scanDecimal(b)
	if n == 0 {
		return 0, 0, false
	}
	if n < len(b) && (b[n] == 'e' || b[n] == 'E') || d.digits > maxDigits || d.places >= len(tens) {
		return slowNumber(b, buf)
	}
	if v, plain, ok := d.value(); ok {
		return v, n, plain
	}
	return slowNumber(b, buf)
}

// scanDecimal reads digits with or without a fraction, as JSON allows them.
func scanDecimal(b []byte) (d decimal, n int) {
	if len(b) > 0 && b[0] == '-' {
		d.minus, n = true, 1
	}
	from := n
	for ; n < len(b) && b[n]-'0' < 10; n++ {
		d.mantissa = d.mantissa*10 + uint64(b[n]-'0')
	}
	whole := n - from
	if whole == 0 || whole > 1 && b[from] == '0' {
		return d, 0
	}
	if b[from] == '0' {
		whole = 0
	}
	d.digits = whole
	if n == len(b) || b[n] != '.' {
		return d, n
	}
	n++
	from = n
	for ; n < len(b) && b[n]-'0' < 10; n++ {
		d.mantissa = d.mantissa*10 + uint64(b[n]-'0')
		if d.mantissa != 0 {
			d.digits++
		}
	}
	if d.places = n - from; d.places == 0 {
		return d, 0
	}
	return d, n
}

// value returns the float64 nearest to d, and whether d is its shortest text. ok is false where that is too close to call.
//
// The quotient of mantissa and power of ten is held as a float64 and what it is short of, by a fused multiply-add. The text is the shortest if no other decimal of as many digits is
// nearer to v, and none with one digit less reads back as v.
func (d decimal) value() (v float64, plain, ok bool) {
	if d.mantissa == 0 {
		return d.signed(0), d.places == 0, true
	}
	p := tens[d.places]
	if d.digits <= 15 { // any two such decimals are different numbers
		v = float64(d.mantissa) / p
		return d.signed(v), (d.places == 0 || d.mantissa%10 != 0) && v >= 1e-6, true
	}
	if d.places == 0 {
		return 0, false, false // a whole number beyond what float64 counts by ones
	}
	hi := float64(d.mantissa)
	lo := float64(int64(d.mantissa) - int64(hi))
	q := hi / p
	rest := (math.FMA(-q, p, hi) + lo) / p
	v = q + rest
	off := rest - (v - q) // d is v + off
	bits := math.Float64bits(v)
	half := math.Float64frombits((bits>>52 - 53) << 52) // of the distance to the next float64
	if bits<<12 == 0 || v < 1e-6 || near(math.Abs(off), half, half) {
		return 0, false, false
	}
	plain, ok = d.shortest(off, half)
	return d.signed(v), plain, ok
}

// shortest reports whether no shorter decimal lies within half of v = d - off, and none of as many digits is nearer.
func (d decimal) shortest(off, half float64) (yes, ok bool) {
	if d.mantissa%10 == 0 {
		return false, true
	}
	unit := 1 / tens[d.places]
	last := float64(d.mantissa % 10)
	shorter := min(math.Abs(last*unit-off), math.Abs((10-last)*unit+off))
	if near(math.Abs(off), unit/2, half) || near(shorter, half, half) {
		return false, false
	}
	return math.Abs(off) < unit/2 && shorter > half, true
}

// near reports whether a and b are too close to tell which is greater.
func near(a, b, half float64) bool { return math.Abs(a-b) < sure*half }

func (d decimal) signed(v float64) float64 {
	if d.minus {
		return -v
	}
	return v
}

// slowNumber is readNumber by the standard library.
func slowNumber(b, buf []byte) (v float64, n int, ok bool) {
	for n < len(b) && (b[n]-'0' < 10 || b[n] == '-' || b[n] == '+' || b[n] == '.' || b[n] == 'e' || b[n] == 'E') {
		n++
	}
	if metrics.Fields(append(append([]byte(`{"a":`), b[:n]...), '}'), func(_, _ []byte) error { return nil }) != nil {
		return 0, 0, false
	}
	v, good := metrics.ParseNumber(b[:n])
	if !good {
		return 0, 0, false
	}
	return v, n, plain(v, b[:n], buf)
}
