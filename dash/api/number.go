package api

import (
	"math"
	"strconv"
)

// A Number is a number as JSON text, or nothing. Its zero value is null.
type Number string

// Verbatim returns the number that stands in a file as raw.
func Verbatim(raw []byte) Number { return Number(raw) }

// Float returns v with the fewest digits that read back as v. NaN is a number here that is not finite; see [Measured] for what was not measured.
func Float(v float64) Number {
	switch {
	case math.IsNaN(v):
		return `"NaN"`
	case math.IsInf(v, 1):
		return `"Infinity"`
	case math.IsInf(v, -1):
		return `"-Infinity"`
	}
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		return Number(strconv.FormatFloat(v, 'e', -1, 64))
	}
	return Number(strconv.FormatFloat(v, 'f', -1, 64))
}

// Measured is [Float] where NaN means that nothing was measured.
func Measured(v float64) Number {
	if math.IsNaN(v) {
		return ""
	}
	return Float(v)
}

// Float32 returns v with the fewest digits that read back as the same float32; NaN is nothing.
func Float32(v float32) Number {
	f := float64(v)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return Measured(f)
	}
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		return Number(strconv.FormatFloat(f, 'e', -1, 32))
	}
	return Number(strconv.FormatFloat(f, 'f', -1, 32))
}

// MarshalJSON returns the number's own text.
func (n Number) MarshalJSON() ([]byte, error) {
	if n == "" {
		return []byte("null"), nil
	}
	return []byte(n), nil
}

// UnmarshalJSON keeps the text as it is.
func (n *Number) UnmarshalJSON(raw []byte) error {
	*n = Number(raw)
	if string(raw) == "null" {
		*n = ""
	}
	return nil
}
