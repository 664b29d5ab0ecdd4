package taps

import (
	"testing"

	"furlong/dtype"
	"furlong/kernels/cpu"
	"furlong/kernels/ref"
)

// A model held against its own taps shows nothing, bit for bit, at every boundary that there is.
func TestOwnTapsAreEqual(t *testing.T) {
	fast := cpu.New(2)
	t.Cleanup(fast.Close)
	for _, tt := range []struct {
		name string
		j    Judge
	}{
		{"ref", judge(ref.New[float32](), randomModel(small, dtype.F32, 1))},
		{"cpu", judge(fast, randomModel(small, dtype.F32, 1))},
		{"BF16", judge(fast, randomModel(small, dtype.BF16, 2))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ids := randomTokens(1, small.Vocab, 41)
			s := record(t, tt.j, ids)
			diffs, err := Force(tt.j, s)
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
			for l := range small.Layers {
				one, err := ForceLayer(tt.j, s, l)
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
