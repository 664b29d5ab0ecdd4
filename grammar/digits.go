package grammar

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// A decimal is a number by its digits, without zeros at either end.
type decimal struct {
	minus           bool
	whole, fraction string
}

// parseDecimal reads a number as JSON writes it.
func parseDecimal(src string) (decimal, error) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(src), "e")
	var x decimal
	mantissa, x.minus = strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	shift, err := strconv.Atoi("0" + strings.TrimPrefix(exponent, "+"))
	if strings.HasPrefix(exponent, "-") {
		shift, err = strconv.Atoi(exponent)
	}
	if err == nil && (shift > 99 || shift < -99) {
		err = strconv.ErrRange
	}
	if err == nil {
		all := strings.Repeat("0", 99) + whole + fraction + strings.Repeat("0", 99)
		point := 99 + len(whole) + shift
		x.whole, x.fraction = strings.TrimLeft(all[:point], "0"), strings.TrimRight(all[point:], "0")
	}
	if err != nil || len(x.whole) > maxWhole || len(x.fraction) > maxFraction {
		return decimal{}, fmt.Errorf("%.50s is out of range, want at most %d digits before the point and %d after it", src, maxWhole, maxFraction)
	}
	x.minus = x.minus && x.whole+x.fraction != ""
	return x, nil
}

// compare orders by value.
func (x decimal) compare(y decimal) int {
	if x.minus != y.minus {
		return map[bool]int{true: -1, false: 1}[x.minus]
	}
	c := cmp.Or(cmp.Compare(len(x.whole), len(y.whole)), cmp.Compare(x.whole, y.whole), cmp.Compare(x.fraction, y.fraction))
	if x.minus {
		return -c
	}
	return c
}

// A bound is a number that may be reached, or may not.
type bound struct {
	at   decimal
	open bool
}

// tighter returns the bound that allows less: above it for low, below it otherwise. nil is none.
func tighter(a, b *bound, low bool) *bound {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	c := a.at.compare(b.at)
	if c == 0 && a.open || c > 0 && low || c < 0 && !low {
		return a
	}
	return b
}

// between is a number from low to high, nil for no bound, with a fraction or without. It is written without an exponent; zero has no sign.
func between(low, high *bound, fraction bool) piece {
	zero := &bound{}
	var parts []piece
	if high == nil || !high.at.minus {
		from := low
		if low == nil || low.at.minus {
			from = zero
		}
		parts = append(parts, magnitude(from, high, fraction))
	}
	if low == nil || low.at.minus {
		from := high
		if high == nil || !high.at.minus {
			from = &bound{open: true}
		}
		parts = append(parts, sequence(text("-"), magnitude(from, low, fraction)))
	}
	return either(parts...)
}

// magnitude is a number without a sign. The signs of its bounds don't count.
func magnitude(low, high *bound, fraction bool) piece {
	if high == nil {
		high = &bound{at: decimal{whole: "1" + strings.Repeat("0", maxWhole)}, open: true}
	}
	var parts []piece
	for n := 1; n <= maxWhole; n++ {
		from, to := max(1, len(low.at.whole)), max(1, len(high.at.whole))
		if n < from || n > to {
			continue
		}
		w := &writing{low: padded(low, n), high: padded(high, n), n: n, openLow: low.open, openHigh: high.open, fraction: fraction}
		parts = append(parts, w.digits(0, n == from, n == to))
	}
	return either(parts...)
}

// padded are a bound's digits as those of a number with n before the point and all that there may be after it.
func padded(b *bound, n int) string {
	whole := strings.Repeat("0", max(0, n-len(b.at.whole))) + b.at.whole
	return whole + b.at.fraction + strings.Repeat("0", maxFraction-len(b.at.fraction))
}

// A writing spells numbers of n digits before the point.
type writing struct {
	low, high         string // digits of the bounds
	n                 int
	openLow, openHigh bool
	fraction          bool
}

// digits is the rest of a number after i digits. onLow says that these are the digits of the lower bound, onHigh of the upper.
func (w *writing) digits(i int, onLow, onHigh bool) piece {
	if onLow && !w.openLow && zeros(w.low[min(i, len(w.low)):]) && i > 0 {
		onLow = false
	}
	if i >= w.n {
		return w.afterPoint(i, onLow, onHigh)
	}
	if !onLow && !onHigh && i > 0 {
		return sequence(times(digit, w.n-i, w.n-i), w.afterPoint(w.n, false, false))
	}
	return w.next(i, onLow, onHigh)
}

// afterPoint is the rest once all digits before the point are there.
func (w *writing) afterPoint(i int, onLow, onHigh bool) piece {
	rest := maxFraction - (i - w.n)
	point := nothing
	if i == w.n {
		point = text(".")
	}
	var parts []piece
	if w.mayEnd(i, onLow, onHigh) {
		parts = append(parts, nothing)
	}
	switch {
	case !w.fraction || rest == 0:
	case !onLow && !onHigh:
		parts = append(parts, sequence(point, times(digit, 1, rest)))
	default:
		parts = append(parts, sequence(point, w.next(i, onLow, onHigh)))
	}
	return either(parts...)
}

// mayEnd says whether a number of i digits is within the bounds.
func (w *writing) mayEnd(i int, onLow, onHigh bool) bool {
	if onLow && (w.openLow || !zeros(w.low[i:])) {
		return false
	}
	return !onHigh || !w.openHigh || !zeros(w.high[i:])
}

// next is one more digit and the rest.
func (w *writing) next(i int, onLow, onHigh bool) piece {
	lo, hi := byte('0'), byte('9')
	if i == 0 && w.n > 1 {
		lo = '1'
	}
	if onLow && i < len(w.low) {
		lo = w.low[i]
	}
	if onHigh {
		hi = w.high[i]
	}
	switch {
	case lo > hi:
		return never
	case lo == hi:
		return sequence(octet(lo, lo), w.digits(i+1, onLow, onHigh))
	}
	var parts []piece
	if onLow {
		parts = append(parts, sequence(octet(lo, lo), w.digits(i+1, true, false)))
		lo++
	}
	if onHigh {
		parts = append(parts, sequence(octet(hi, hi), w.digits(i+1, false, true)))
		hi--
	}
	if lo <= hi {
		parts = append(parts, sequence(octet(lo, hi), w.digits(i+1, false, false)))
	}
	return either(parts...)
}

func zeros(s string) bool { return strings.Trim(s, "0") == "" }
