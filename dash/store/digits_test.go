package store

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// texts writes a random number in many ways: the shortest digits, one more, one less, fixed numbers of them, exponents.
func texts(r *rand.Rand) []string {
	v := r.NormFloat64() * math.Pow(10, float64(r.IntN(24)-10))
	switch r.IntN(6) {
	case 0:
		v = math.Float64frombits(r.Uint64())
	case 1:
		v = math.Ldexp(float64(1+r.IntN(3)), r.IntN(80)-30)
	case 2:
		v = float64(r.IntN(1e6)) / 1e3
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		v = 0
	}
	short := strconv.FormatFloat(v, 'f', -1, 64)
	all := []string{short, short + "0", strconv.FormatFloat(v, 'e', -1, 64), fmt.Sprintf("%.*f", r.IntN(20), v), fmt.Sprintf("%.*g", 14+r.IntN(5), v), "-" + strings.TrimPrefix(short, "-")}
	if i := strings.IndexByte(short, '.'); i > 0 {
		last := []byte(short)
		last[len(last)-1] = byte('0' + r.IntN(10))
		all = append(all, string(last), short[:len(short)-1], short+strconv.Itoa(r.IntN(100)))
	}
	return all
}

// A number reads as the standard library reads it, and is called plain just when it stands in the digits that the library writes it with.
func TestReadNumber(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	quick := 0
	for range 15_000 {
		for _, text := range texts(r) {
			checkNumber(t, text)
			if d, n := scanDecimal([]byte(text)); n == len(text) && d.digits <= maxDigits && d.places < len(tens) {
				if _, _, ok := d.value(); ok {
					quick++
				}
			}
		}
	}
	if quick < 50_000 {
		t.Errorf("%d numbers were read quickly, want most", quick)
	}
	for _, text := range []string{
		"0", "-0", "0.0", "-0.0", "1", "1.0", "01", "1.", ".5", "-", "", "+1", "1e5", "1e", "1e+", "1e999", "-1e999", "9007199254740993", "9007199254740992", "99999999999999999", "0.30000000000000004", "0.3000000000000001",
		"0.1000000000000000055511151231257827", "5e-324", "0.000001", "0.0000009", "0.00000099999999999999995", "2.2250738585072014e-308", "123456789012345678901234567890", "1.7976931348623157e308", "1-2", "1,2", "1}", "0x10", "1_0", "00", "-01", "4503599627370496.5", "4503599627370497.5",
	} {
		checkNumber(t, text)
	}
}

func FuzzReadNumber(f *testing.F) {
	f.Add("0.30000000000000004")
	f.Add("-1e5x")
	f.Fuzz(func(t *testing.T, text string) { checkNumber(t, text) })
}

// checkNumber compares with the standard library.
func checkNumber(t *testing.T, text string) {
	t.Helper()
	token := text
	if i := strings.IndexFunc(text, func(c rune) bool { return !strings.ContainsRune("0123456789+-.eE", c) }); i >= 0 {
		token = text[:i]
	}
	v, n, isPlain := readNumber([]byte(text), nil)
	if n == 0 {
		if json.Valid([]byte(token)) {
			t.Errorf("%q is not read, though it is a number", text)
		}
		return
	}
	if !json.Valid([]byte(text[:n])) {
		t.Errorf("%q is read up to byte %d, which is no number", text, n)
	}
	want, _ := strconv.ParseFloat(text[:n], 64) // out of range is infinite
	if math.Float64bits(v) != math.Float64bits(want) {
		t.Errorf("%q is read as %v, want %v", text[:n], v, want)
	}
	if want := plain(want, []byte(text[:n]), nil); isPlain != want {
		t.Errorf("%q is plain: %v, want %v", text[:n], isPlain, want)
	}
}

func BenchmarkReadNumber(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 4))
	var all [][]byte
	for range 1000 {
		all = append(all, strconv.AppendFloat(nil, r.NormFloat64(), 'f', -1, 64))
	}
	for b.Loop() {
		for _, text := range all {
			readNumber(text, nil)
		}
	}
}
