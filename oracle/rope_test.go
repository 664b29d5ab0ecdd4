package oracle

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"furlong/tensor"
)

// recorder keeps the frequencies that layers turn by.
type recorder struct {
	*right
	seen [][]float32
}

func (k *recorder) Angles(cos, sin *tensor.Tensor, pos []int32, freq []float32) {
	k.right.Angles(cos, sin, pos, freq)
	if !slices.ContainsFunc(k.seen, func(f []float32) bool { return &f[0] == &freq[0] }) {
		k.seen = append(k.seen, freq)
	}
}

// The model must turn by the reference's frequencies, bit for bit: an ulp grows with the position.
func TestFrequencies(t *testing.T) {
	v := openVectors(t)
	k := &recorder{right: exact}
	plant(t, v, nil, k).forwardCase(t, v, 5)
	if len(k.seen) != 2 {
		t.Fatalf("%d sets of frequencies, want 2", len(k.seen))
	}
	for i, name := range []string{"rope.main.inv_freq", "rope.compress.inv_freq"} {
		if got, want := bitsOf(k.seen[i]), bitsOf(freq(t, v, name)); got != want {
			t.Errorf("%s = %s, want %s", name, got, want)
		}
	}
}

func bitsOf(x []float32) (s string) {
	for _, v := range x {
		s += fmt.Sprintf("%08x ", math.Float32bits(v))
	}
	return s
}
