package verdict

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"furlong/rl"
)

// Missing stands where there is no number.
const Missing = "–"

// fixed prints v with so many decimals and a real minus sign. Numbers that are not finite are words.
func fixed(v float64, decimals int) string {
	switch {
	case math.IsNaN(v):
		return "not a number"
	case math.IsInf(v, 1):
		return "∞"
	case math.IsInf(v, -1):
		return "−∞"
	}
	s := strconv.FormatFloat(math.Abs(v), 'f', decimals, 64)
	if whole, frac, point := strings.Cut(s, "."); len(whole) > 3 {
		s = commas(whole)
		if point {
			s += "." + frac
		}
	}
	if v < 0 && strings.Trim(s, "0.") != "" {
		return "−" + s
	}
	return s
}

// commas sets a comma between thousands.
func commas(digits string) string {
	var b strings.Builder
	for i, c := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// Count prints a whole number: 12,345.
func Count(n float64) string { return fixed(n, 0) }

// Reward prints a reward or a pass rate in words: two decimals, an exact zero as 0.
func Reward(v float64) string { return decimals(v, 2) }

// Table prints a reward or a pass rate in a table: three decimals, an exact zero as 0.
func Table(v float64) string { return decimals(v, 3) }

func decimals(v float64, n int) string {
	if v == 0 {
		return "0"
	}
	return fixed(v, n)
}

// Nats prints a gap or a logprob: three significant digits.
func Nats(v float64) string { return Significant(v, 3) }

// Significant prints v with so many significant digits, very small and very large numbers with a power of ten.
func Significant(v float64, digits int) string {
	a := math.Abs(v)
	switch {
	case v == 0:
		return "0"
	case math.IsNaN(v) || math.IsInf(v, 0):
		return fixed(v, 0)
	case a < 1e-4 || a >= 1e7:
		s := strconv.FormatFloat(v, 'e', digits-1, 64)
		mantissa, exponent, _ := strings.Cut(s, "e")
		e, _ := strconv.Atoi(exponent)
		return strings.ReplaceAll(fmt.Sprintf("%se%d", mantissa, e), "-", "−")
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(a, 'e', digits-1, 64), 64)
	return fixed(v, max(0, digits-1-int(math.Floor(math.Log10(rounded)))))
}

// Share prints a part of one as percent: whole ones, below 1 % two significant digits.
func Share(v float64) string {
	p := 100 * v
	switch {
	case v == 0:
		return "0 %"
	case math.Abs(p) < 0.995:
		return Significant(p, 2) + " %"
	case p > 99 && p < 100:
		return fixed(math.Floor(p*100)/100, 2) + " %" // never 100 where it is not all
	}
	return fixed(p, 0) + " %"
}

// Rate prints a number a second in thousands where it has them: 18.3k.
func Rate(v float64) string {
	switch a := math.Abs(v); {
	case a >= 999.5e6:
		return Significant(v/1e9, 3) + "G"
	case a >= 999.5e3:
		return Significant(v/1e6, 3) + "M"
	case a >= 999.5:
		return Significant(v/1e3, 3) + "k"
	}
	return Significant(v, 3)
}

// Bytes prints a size: 1.6 GB.
func Bytes(n float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "KB"}} {
		if n >= u.size {
			return Significant(n/u.size, 2) + " " + u.name
		}
	}
	return Count(n) + " bytes"
}

// Seconds prints a duration: 4.3 s, 41 s, 2 min 05 s, 3 h 12 min.
func Seconds(s float64) string {
	switch {
	case math.IsNaN(s) || math.IsInf(s, 0):
		return Missing
	case s == 0:
		return "0 s"
	case s < 9.95:
		return Significant(s, 2) + " s"
	}
	n := int(math.Round(s))
	switch {
	case n < 60:
		return fmt.Sprintf("%d s", n)
	case n < 3600:
		return fmt.Sprintf("%d min %02d s", n/60, n%60)
	case n < 48*3600:
		return fmt.Sprintf("%d h %02d min", n/3600, n/60%60)
	}
	return fmt.Sprintf("%d d %02d h", n/86400, n/3600%24)
}

// About prints a duration of which only the size is known: 41 s, 10 min, 3 h 12 min.
func About(s float64) string {
	if n := int(math.Round(s)); n >= 90 && n < 3600 {
		return fmt.Sprintf("%d min", int(math.Round(s/60)))
	}
	return Seconds(s)
}

// Signed prints v with its sign, in as many decimals.
func Signed(v float64, decimals int) string {
	if s := fixed(v, decimals); strings.HasPrefix(s, "−") || strings.Trim(s, "0.") == "" {
		return s
	}
	return "+" + fixed(v, decimals)
}

// Interval prints an estimate of a difference and its interval: +0.10 [+0.04, +0.16].
func Interval(v, lo, hi float64, decimals int) string {
	return Signed(v, decimals) + " " + Range(lo, hi, decimals)
}

// Range prints an interval of a difference: [+0.04, +0.16].
func Range(lo, hi float64, decimals int) string {
	return fmt.Sprintf("[%s, %s]", Signed(lo, decimals), Signed(hi, decimals))
}

// places returns how many decimals show a number, or the width of an interval, with two significant digits, 2 at least.
func places(v float64) int {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return 2
	}
	return min(max(2, 1-int(math.Floor(math.Log10(math.Abs(v))))), 9)
}

// Version prints a version: v37, and 2·v37 after a resume that opened a second epoch.
func Version(v rl.Version) string {
	if v.Epoch() == 0 {
		return fmt.Sprintf("v%d", v.Count())
	}
	return fmt.Sprintf("%d·v%d", v.Epoch()+1, v.Count())
}

// Clock prints a time of day, and the day too where it is not that of now.
func Clock(t, now time.Time) string {
	t = t.In(now.Location())
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format("15:04")
	}
	return t.Format("2 January 15:04")
}
