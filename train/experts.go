package train

import (
	"math"

	"furlong/rl"
)

// expertLoad counts the tokens of each expert, layer by layer, as forward passes report their choices.
type expertLoad struct {
	experts int // of a layer
	layers  [][]uint32
}

// A router is a model that sends each token to some of its layers' experts.
type router interface {
	Experts() int // of a layer
}

func (l *expertLoad) reset() {
	for _, n := range l.layers {
		clear(n)
	}
}

// add adds the counts of o.
func (l *expertLoad) add(o expertLoad) {
	for i, n := range o.layers {
		if len(l.layers) <= i {
			l.layers = append(l.layers, make([]uint32, len(n)))
		}
		for e, tokens := range n {
			l.layers[i][e] += tokens
		}
	}
}

// routed counts the choice of a layer in a pass.
func (l *expertLoad) routed(layer int, choice []int32) {
	for len(l.layers) <= layer {
		l.layers = append(l.layers, make([]uint32, l.experts))
	}
	for _, e := range choice {
		l.layers[layer][e]++
	}
}

// report writes the spread of the load: its coefficient of variation, mean over layers, and the busiest expert's load over an even
// one in the worst layer.
func (l *expertLoad) report(stats rl.Stats) {
	var cv, peak float64
	for _, counts := range l.layers {
		c, p := uneven(counts)
		cv += c
		peak = max(peak, p)
	}
	if n := float64(len(l.layers)); n > 0 {
		stats["moe/load_cv"], stats["moe/max_load"] = cv/n, peak
	}
}

func uneven(counts []uint32) (cv, peak float64) {
	var sum, sq, top float64
	for _, n := range counts {
		sum += float64(n)
		sq += float64(n) * float64(n)
		top = max(top, float64(n))
	}
	e := float64(len(counts))
	mean := sum / e
	if mean == 0 {
		return 0, 0
	}
	return math.Sqrt(max(0, sq/e-mean*mean)) / mean, top / mean
}

// ExpertLoad returns the tokens that each expert got in the last step: [layer][expert].
func (e *Engine) ExpertLoad() [][]uint32 { return e.load.layers }
