package dsv4

import (
	"math"
	"testing"
)

// The expected values are the float32 numbers of the public implementation.
func TestFrequencies(t *testing.T) {
	for _, tt := range []struct {
		name  string
		theta float64
		dim   int
		yarn  Yarn
		want  map[int]float32
	}{
		{"flash", 160000, 64, Yarn{16, 65536, 32, 1}, map[int]float32{
			0: 1, 1: .687656, 14: .00528685656, 15: .00363553851, 16: .00226562493,
			17: .00139680132, 20: .000296977785, 24: 1.95312532e-05, 25: 5.37231244e-06, 31: 5.6805294e-07,
		}},
		{"betas read", 10000, 32, Yarn{8, 4096, 16, 2}, map[int]float32{6: .031622777, 7: .014670805, 8: .0065, 9: .0026711213, 10: .0009486833, 11: .00022228493}},
		{"betas of the defaults", 10000, 32, Yarn{8, 4096, 32, 1}, map[int]float32{6: .02766993, 7: .013337096, 8: .00625, 9: .0028117066, 10: .0011858541, 11: .00044456985}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := frequencies(tt.theta, tt.dim, tt.yarn)
			for p, want := range tt.want {
				if got := f[p]; math.Abs(float64(got-want)) > 1e-7*float64(want) {
					t.Errorf("pair %d turns at %v, want %v", p, got, want)
				}
			}
		})
	}
}
