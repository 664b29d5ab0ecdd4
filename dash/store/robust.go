package store

import (
	"math"
	"slices"

	"furlong/metrics/trend"
)

// before is how many rows before a cycle say what is usual.
const before = 20

// trailing holds the last finite values of a series.
type trailing struct{ last []float64 }

func (t *trailing) add(v float64) {
	if !trend.Finite(v) {
		return
	}
	if t.last = append(t.last, v); len(t.last) > before {
		t.last = t.last[1:]
	}
}

// z returns what was usual and how many robust deviations v lies from it.
func (t *trailing) z(v, resolution float64) (usual, z float64) { return robust(t.last, v, resolution) }

// resolutionOf returns the least difference of a series that counts: a share that was 0 twenty times is not unheard of at a thousandth.
func resolutionOf(unit string) float64 {
	switch unit {
	case "share":
		return 0.005
	case "percent":
		return 0.5
	case "samples", "groups", "tokens", "steps", "experts", "updates", "versions", "prompts", "evals":
		return 1
	case "s":
		return 0.01
	case "nats", "reward":
		return 1e-4
	}
	return 1e-9
}

// robust says what was usual, and how far v lies from it: (v - median) / max(1.4826 MAD, 1 % of |median|, resolution). Without values before, nothing is unusual.
func robust(past []float64, v, resolution float64) (usual, z float64) {
	if len(past) == 0 {
		return math.NaN(), 0
	}
	usual = median(past)
	far := make([]float64, len(past))
	for i, p := range past {
		far[i] = math.Abs(p - usual)
	}
	return usual, (v - usual) / max(1.4826*median(far), math.Abs(usual)/100, resolution)
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return (s[len(s)/2] + s[(len(s)-1)/2]) / 2
}
