package published

import (
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// pythonFloat matches what Python's float() reads, beside inf and nan.
var pythonFloat = regexp.MustCompile(`^[+-]?(?:\d(?:_?\d)*\.?(?:\d(?:_?\d)*)?|\.\d(?:_?\d)*)(?:[eE][+-]?\d(?:_?\d)*)?$`)

// float reads text as Python's float() does.
func float(text string) (float64, bool) {
	text = strings.Map(asciiDigit, strings.TrimFunc(text, isSpace))
	switch strings.ToLower(strings.TrimLeft(text, "+-")) {
	case "inf", "infinity", "nan":
		if len(strings.TrimLeft(text, "+-")) < len(text)-1 {
			return 0, false
		}
		if strings.EqualFold(strings.TrimLeft(text, "+-"), "nan") {
			return math.NaN(), true
		}
		if text[0] == '-' {
			return math.Inf(-1), true
		}
		return math.Inf(1), true
	}
	if !pythonFloat.MatchString(text) {
		return 0, false
	}
	x, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
	if err != nil && !math.IsInf(x, 0) {
		return 0, false
	}
	return x, true
}

// asciiDigit returns the digit that a decimal digit of any script is, and other characters as they are. Unicode has the ten digits
// of a script in order.
func asciiDigit(r rune) rune {
	if r < 0x80 || !unicode.IsDigit(r) {
		return r
	}
	zero := r
	for range 9 {
		if !unicode.IsDigit(zero - 1) {
			break
		}
		zero--
	}
	if r >= 0x1d7ce && r <= 0x1d7ff { // digits in five mathematical fonts, one behind the other
		zero = 0x1d7ce + (r-0x1d7ce)/10*10
	}
	return '0' + r - zero
}

// isSpace reports what Python's str.strip takes off.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// truncated writes x without its decimals, as str(int(x)) does. It fails for what is not finite.
func truncated(x float64) (string, bool) {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return "", false
	}
	i, _ := new(big.Float).SetFloat64(math.Trunc(x)).Int(nil)
	return i.String(), true
}

// nearWhole reports whether x is a whole number to 1e-7, which no infinity is.
func nearWhole(x float64) bool {
	return !math.IsInf(x, 0) && !math.IsNaN(x) && math.Abs(x-math.RoundToEven(x)) <= 1e-7
}
