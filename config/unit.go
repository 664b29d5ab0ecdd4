package config

import (
	"fmt"
	"math/big"
	"strings"
)

// A suffix multiplies the number before it.
type suffix struct {
	text  string
	times int64
}

// Longest first within a unit, so that MiB is not read as B. A bare K, M or G is refused for bytes: it is 2 % to 7 %
// different things to different people.
var suffixes = map[string][]suffix{
	"bytes": {
		{"TiB", 1 << 40},
		{"GiB", 1 << 30},
		{"MiB", 1 << 20},
		{"KiB", 1 << 10},
		{"TB", 1e12},
		{"GB", 1e9},
		{"MB", 1e6},
		{"kB", 1e3},
		{"KB", 1e3},
		{"B", 1},
	},
	"count": {
		{"Gi", 1 << 30},
		{"Mi", 1 << 20},
		{"Ki", 1 << 10},
		{"G", 1e9},
		{"M", 1e6},
		{"k", 1e3},
	},
}

// expand writes w out in digits: 1.5k of unit "count" is 1500. Without a unit w is returned as it is.
func expand(w, unit string) (string, error) {
	if unit == "" {
		return w, nil
	}
	number, times := w, int64(1)
	for _, s := range suffixes[unit] {
		if head, ok := strings.CutSuffix(w, s.text); ok {
			number, times = head, s.times
			break
		}
	}
	if !isDecimal(number) {
		return "", fmt.Errorf("%q, want a number and one of %s", w, suffixNames(unit))
	}
	r, ok := new(big.Rat).SetString(number)
	if !ok {
		return "", fmt.Errorf("%q, want a number and one of %s", w, suffixNames(unit))
	}
	r.Mul(r, new(big.Rat).SetInt64(times))
	if !r.IsInt() {
		return "", fmt.Errorf("%q, want a whole number", w)
	}
	return r.Num().String(), nil
}

// isDecimal admits 12, -1.5 and 2e6 with at most 32 characters and two digits of exponent: what a person writes, and
// nothing that takes long to expand.
func isDecimal(s string) bool {
	mantissa, exponent, hasExp := strings.Cut(strings.TrimPrefix(s, "-"), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	if len(s) > 32 || whole == "" || strings.Trim(whole+fraction, "0123456789") != "" {
		return false
	}
	return !hasExp || len(exponent) > 0 && len(exponent) <= 2 && strings.Trim(exponent, "0123456789") == ""
}

// compact is the inverse of expand: the largest binary suffix that divides the number without a remainder, for bytes.
// Counts stay digits.
func compact(digits, unit string) string {
	if unit != "bytes" || digits == "0" {
		return digits
	}
	n, ok := new(big.Int).SetString(digits, 10)
	if !ok {
		return digits
	}
	for _, s := range suffixes[unit][:4] {
		q, r := new(big.Int).QuoRem(n, big.NewInt(s.times), new(big.Int))
		if r.Sign() == 0 {
			return q.String() + s.text
		}
	}
	return digits
}

func suffixNames(unit string) string {
	var names []string
	for _, s := range suffixes[unit] {
		names = append(names, s.text)
	}
	return strings.Join(names, " ")
}
