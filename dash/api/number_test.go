package api

import (
	"encoding/json"
	"math"
	"strconv"
	"testing"
)

// A number travels as its own digits, what is not finite as a word, and nothing as null.
func TestNumber(t *testing.T) {
	for _, tt := range []struct {
		n    Number
		want string
	}{
		{"", "null"},
		{Verbatim([]byte("1.50")), "1.50"},
		{Float(0.1), "0.1"},
		{Float(1e-7), "1e-07"},
		{Float(1e21), "1e+21"},
		{Float(math.Copysign(0, -1)), "-0"},
		{Float(math.NaN()), `"NaN"`},
		{Float(math.Inf(-1)), `"-Infinity"`},
		{Measured(math.NaN()), "null"},
		{Measured(math.Inf(1)), `"Infinity"`},
		{Float32(0.1), "0.1"},
		{Float32(float32(math.NaN())), "null"},
		{Float32(1e-8), "1e-08"},
	} {
		b, err := json.Marshal(tt.n)
		if err != nil || string(b) != tt.want {
			t.Errorf("%q is written as %s (%v), want %s", string(tt.n), b, err, tt.want)
		}
		var back Number
		if err := json.Unmarshal(b, &back); err != nil || back != tt.n {
			t.Errorf("%s is read as %q (%v)", b, string(back), err)
		}
	}
}

// Every float64 reads back as itself.
func FuzzFloat(f *testing.F) {
	for _, v := range []float64{0, 1, -1e-6, 1e21, 5e-324, math.MaxFloat64} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v float64) {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return
		}
		got, err := strconv.ParseFloat(string(Float(v)), 64)
		if err != nil || math.Float64bits(got) != math.Float64bits(v) || !json.Valid([]byte(Float(v))) {
			t.Errorf("%v is %s, read as %v (%v)", v, Float(v), got, err)
		}
	})
}
