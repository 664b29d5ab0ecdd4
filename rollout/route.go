package rollout

import (
	"errors"
	"slices"

	"furlong/kv"
	"furlong/model"
)

// Which experts a token went to is a row of a stream of its own, in lasting pages: it is shared with the token's attention state, copied with
// it and evicted with it. So a token that was found in the prefix cache has its row too.
//
// A sample keeps the rows that it had when it lost its pages. They are of the passes that its tokens were drawn from; what is computed again,
// maybe under other weights, may have gone elsewhere.

// A router is a model that sends each token to some experts of each layer.
type router interface {
	Choices() int // experts of a token in each layer
}

// streams returns what pages keep of each layer, and how many experts of a token they keep in each.
func (c Config) streams(m model.Model) (layers [][]kv.Spec, choices int, err error) {
	layers = m.Layers()
	if !c.Experts {
		return layers, 0, nil
	}
	if r, ok := m.(router); ok {
		choices = r.Choices()
	}
	if choices == 0 {
		return nil, 0, errors.New("--enable-return-routed-experts: the model has no experts")
	}
	for i, specs := range layers {
		layers[i] = append(slices.Clone(specs), kv.Spec{Stream: kv.Routed, Width: choices, Rate: 1})
	}
	return layers, choices, nil
}

// route keeps the experts of the lane's tokens in a layer. Numbers of experts are small: float32 holds them.
func (l *lane) route(layer int, choice []int32) {
	n := l.in.Len()
	rows := l.ctx.New(n, len(choice)/n)
	values := rows.F32()
	for i, expert := range choice {
		values[i] = float32(expert)
	}
	l.kv.Store(layer).Put(&l.in, kv.Routed, rows)
}

// keepRoutes adds to a sample the rows that it holds in pages and does not have yet, if they are wanted.
func (e *Engine) keepRoutes(r *request) {
	if !r.ask.Report.Experts {
		return
	}
	layers := len(e.m.Layers())
	have := len(r.sample.Experts) / (layers * e.choices)
	for pos := have; pos < r.seq.Len(); pos++ {
		for i := range layers {
			for _, expert := range e.pages.Read(&r.seq, i, kv.Routed, pos) {
				r.sample.Experts = append(r.sample.Experts, int32(expert))
			}
		}
	}
}

// cutRoutes takes the last token's row from a finished sample that has it.
func (e *Engine) cutRoutes(r *request) {
	if r.ask.Report.Experts {
		most := (len(r.tokens) - 1) * len(e.m.Layers()) * e.choices
		r.sample.Experts = r.sample.Experts[:min(most, len(r.sample.Experts))]
	}
}
