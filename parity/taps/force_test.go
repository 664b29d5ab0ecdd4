package taps_test

import (
	"testing"

	"furlong/dtype"
	"furlong/kernels/cpu"
	"furlong/kernels/ref"
	"furlong/parity/taps"
	"furlong/parity/taps/tapstest"
)

// A model held against its own taps shows nothing, bit for bit, at every boundary that there is.
func TestOwnTapsAreEqual(t *testing.T) {
	fast := cpu.New(2)
	t.Cleanup(fast.Close)
	for _, tt := range []struct {
		name string
		j    taps.Judge
	}{
		{"ref", tapstest.Judge(ref.New[float32](), tapstest.Model(tapstest.Small(), dtype.F32, 1))},
		{"cpu", tapstest.Judge(fast, tapstest.Model(tapstest.Small(), dtype.F32, 1))},
		{"BF16", tapstest.Judge(fast, tapstest.Model(tapstest.Small(), dtype.BF16, 2))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := tapstest.Record(tt.j, tapstest.Tokens(1, tapstest.Small(), 41), nil)
			diffs, err := taps.Force(tt.j, s)
			if err != nil {
				t.Fatal(err)
			}
			if len(diffs) != len(s.Taps()) || len(diffs) < 150 {
				t.Errorf("%d differences of %d taps", len(diffs), len(s.Taps()))
			}
			for _, d := range diffs {
				if !d.Same || d.Worst() != 0 || d.Problem != "" {
					t.Errorf("%s: same %v, worst %v, problem %q", d.Title(), d.Same, d.Worst(), d.Problem)
				}
			}
			for l := range tapstest.Small().Layers {
				one, err := taps.ForceLayer(tt.j, s, l)
				if err != nil {
					t.Fatal(err)
				}
				for _, d := range one {
					if !d.Same || d.Layer != l {
						t.Errorf("layer %d alone: %s differs", l, d.Title())
					}
				}
			}
		})
	}
}
