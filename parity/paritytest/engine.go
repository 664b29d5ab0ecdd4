package paritytest

import (
	"slices"
	"sync"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kv"
	"furlong/model"
	"furlong/model/dsv4"
	"furlong/ops"
	"furlong/tensor"
)

// Everywhere plants a mistake in every layer that it applies to.
const Everywhere = -2

// Before is the place of mistakes in the embedding. Results there are reported as layer -1's.
const Before = -1

// An Engine is a model that is right. Its weights are prepared for K.
type Engine struct {
	Model *dsv4.Model
	K     kernels.Backend

	arenas sync.Pool // *tensor.Arena, of passes that are over
}

// A Place is where a pass is: the layer it is in and the boundary that was seen last.
type Place struct {
	Config dsv4.Config
	Layer  int // Before at the embedding; after the last block the number of layers
	After  string
	K      kernels.Backend // that is right
}

// kind returns the kinds of the layer that a pass is in.
func (p *Place) kind() dsv4.Layer { return p.Config.Layers[p.Layer] }

// follows reports whether the boundary seen last is one of these.
func (p *Place) follows(names ...string) bool { return slices.Contains(names, p.After) }

// A run is one pass of an engine with a mistake.
type run struct {
	*Engine
	wrong *dsv4.Model // the same weights but those that the mistake changes
	at    *Place
	only  int
	m     Mistake
	store func(layer int) kv.Store
}

// Run computes ids as one sequence with m planted in layer only, or Everywhere that it applies, and returns the logprob of each token but the
// first. watch, which may be nil, sees the boundaries.
func (e *Engine) Run(m Mistake, only int, ids []int32, watch ops.Watch) []float32 {
	cfg := e.Model.Config()
	r := &run{Engine: e, m: m, only: only, at: &Place{Config: cfg, Layer: Before, K: e.K}}
	r.wrong = e.changed(m)
	r.store = r.stores(ids)
	mem := e.arena()
	defer e.arenas.Put(mem)
	right, wrong := r.contexts(mem, watch)

	in, inWrong := Sequence(ids), Sequence(ids)
	pick := func(layer int) (*ops.Ctx, *dsv4.Model, *ops.Tokens) {
		r.at.Layer = layer
		if r.planted(layer) {
			return wrong, r.wrong, inWrong
		}
		return right, e.Model, in
	}
	c, mod, tokens := pick(Before)
	x := mod.Embed(c, tokens)
	for i := range cfg.Layers {
		c, mod, tokens = pick(i)
		x = mod.Block(c, i, tokens, r.store(i), ops.StreamsOf(x)).Tensor(c)
	}
	c, mod, _ = pick(len(cfg.Layers))
	return score(c, mod, mod.Final(c, x), ids)
}

func (e *Engine) arena() *tensor.Arena {
	mem, ok := e.arenas.Get().(*tensor.Arena)
	if !ok {
		mem = &tensor.Arena{}
	}
	mem.Reset()
	return mem
}

// planted reports whether a layer computes with the mistake.
func (r *run) planted(layer int) bool {
	return (r.only == Everywhere || r.only == layer) && r.m.applies(r.at.Config, layer)
}

// contexts returns the context of what is right and that of what is wrong. Boundaries are first written over by the mistake, then shown.
func (r *run) contexts(mem *tensor.Arena, watch ops.Watch) (right, wrong *ops.Ctx) {
	right = ops.NewCtx(r.K, mem, dtype.F32)
	k := r.K
	if r.m.kernels != nil {
		k = r.m.kernels(part{r.K, r.at})
	}
	wrong = ops.NewCtx(k, mem, dtype.F32)
	var over ops.Watch
	if r.m.over != nil {
		over = r.m.over(r.at)
	}
	watched := func(over ops.Watch) ops.Watch {
		return func(layer int, name string, t *tensor.Tensor, choice []int32) {
			if over != nil {
				over(layer, name, t, choice)
			}
			if watch != nil {
				watch(layer, name, t, choice)
			}
			r.at.After = name
		}
	}
	right.Watch, wrong.Watch = watched(nil), watched(over)
	return right, wrong
}

// stores returns the attention state of each layer.
func (r *run) stores(ids []int32) func(layer int) kv.Store {
	wrong := func(int, kv.Store) kv.Store { return nil }
	if r.m.store != nil {
		wrong = r.m.store(r.Engine, ids)
	}
	return func(layer int) kv.Store {
		right := &kv.InPlace{}
		if r.planted(layer) {
			if s := wrong(layer, right); s != nil {
				return s
			}
		}
		return right
	}
}

// changed returns a model with what m changes: constants, and copies of weights. All other weights are e's own.
func (e *Engine) changed(m Mistake) *dsv4.Model {
	if m.config == nil && m.weight == nil {
		return e.Model
	}
	cfg := e.Model.Config()
	cfg.Layers = slices.Clone(cfg.Layers)
	if m.config != nil {
		m.config(&cfg)
	}
	wrong := dsv4.New(cfg, dtype.F32)
	c := ops.NewCtx(e.K, &tensor.Arena{}, dtype.F32)
	for i, p := range wrong.Params() {
		own := e.Model.Params()[i]
		p.Value, p.Rounds = own.Value, own.Rounds
		if m.weight == nil || !m.weight.named(p.Name) {
			continue
		}
		p.Value = own.Value.Clone()
		if m.weight.change(cfg, p); p.Product {
			c.K.Prepare(p.Value)
		}
	}
	return wrong
}

// Sequence returns ids as the tokens of one sequence.
func Sequence(ids []int32) *ops.Tokens {
	in := &ops.Tokens{ID: ids, Seq: make([]int32, len(ids)), Pos: make([]int32, len(ids))}
	for i := range ids {
		in.Pos[i] = int32(i)
	}
	return in
}

// score returns the logprob of each token but the first.
func score(c *ops.Ctx, m model.Model, h *tensor.Tensor, ids []int32) []float32 {
	n := len(ids) - 1
	rows, scale := make([]int32, n), make([]float32, n)
	for i := range rows {
		rows[i], scale[i] = int32(i), 1
	}
	lp, _ := ops.LogProb(c, ops.Gather(c, h, rows), m.Head(), ids[1:], scale)
	return slices.Clone(lp.F32())
}
