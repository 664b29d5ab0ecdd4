package train

import (
	"fmt"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kv"
	"furlong/model"
	"furlong/ops"
	"furlong/quant"
	"furlong/rl"
	"furlong/tensor"
	"furlong/train/optim"
)

// Engine holds the actor, and the models that its algorithm asks for beside it. It implements rl.TrainEngine.
type Engine struct {
	cfg     Config
	actor   model.Model
	ref     model.Model           // nil without KL
	teacher model.Model           // nil without distillation
	critic  *critic               // nil without one
	known   map[*rl.Sample]*known // of the cycle in hand
	opt     *optim.AdamW
	lanes   lanes
	chooses choosing   // the actor
	load    expertLoad // of the last step
	files   Files

	replica *quant.Replica // what Publish gives; nil for the actor's own weights
	copied  *State         // what Copy gives
	bare    bool           // saves leave the optimizer out
}

// Files is what a checkpoint needs to know besides the numbers.
type Files struct {
	ConfigJSON []byte // config.json of the model
	Layers     int
	Experts    int
}

// New returns an engine that trains actor. ref is the frozen reference policy, or nil. Weights must be loaded.
func New(cfg Config, actor, ref model.Model, k kernels.Backend, files Files) (*Engine, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if flag := cfg.Loss.NeedsReference(); flag != "" && ref == nil {
		return nil, fmt.Errorf("%s: no reference policy: give --ref-load", flag)
	}
	if cfg.Optim.NeedsEnd() && cfg.planned() < 1 {
		return nil, fmt.Errorf("--lr-decay-style %s: the run's length is not known: give --lr-decay-iters", cfg.Optim.Decay)
	}
	e := &Engine{cfg: cfg, actor: actor, ref: ref, lanes: newLanes(k, actor), chooses: choosingOf(actor), files: files}
	if err := e.chooses.able(cfg.Replay); err != nil {
		return nil, err
	}
	for _, p := range actor.Params() {
		if cfg.FreezeGate && isGate(p.Name) {
			p.Frozen = true
		}
		if !p.Frozen {
			p.Grad = tensor.New(dtype.F32, p.Value.Shape...)
		}
	}
	e.opt = optim.New(cfg.Optim, actor.Params(), k)
	recipe, err := quant.ParseRecipe(cfg.Format)
	if err != nil {
		return nil, err
	}
	if err := e.quantise(recipe); err != nil {
		return nil, fmt.Errorf("--actor-format %s: %w", cfg.Format, err)
	}
	e.prepare()
	if ref != nil {
		model.Prepare(e.whole().ctx(), ref)
	}
	return e, nil
}

// prepare derives the actor's layouts: after loading, and after every step.
func (e *Engine) prepare() { model.Prepare(e.whole().ctx(), e.actor) }

func (e *Engine) whole() *lane { return e.lanes.whole[0] }

// Params returns the actor's weights, in order.
func (e *Engine) Params() []*tensor.Param { return e.actor.Params() }

// Steps returns the number of optimizer steps taken.
func (e *Engine) Steps() int { return e.opt.Steps() }

// Bytes returns the memory of activations and gradients between passes.
func (e *Engine) Bytes() int { return e.lanes.bytes() }

// stores returns a pass's attention state, one a layer.
func (e *Engine) stores(k kernels.Backend, m model.Model) []kv.InPlace {
	layers := m.Layers()
	out := make([]kv.InPlace, len(layers))
	if e.cfg.KV == kv.FP8Format {
		for i, specs := range layers {
			out[i].Keep = kv.FP8(k, specs)
		}
	}
	return out
}

// forward returns the logprobs and entropies [R] of a pass's next tokens.
func (e *Engine) forward(c *ops.Ctx, m model.Model, p pass) (lp, entropy *tensor.Tensor) {
	return ops.LogProb(c, e.hidden(c, m, p), m.Head(), p.next, p.scale)
}

// hidden returns the last hidden states [R, D] from which a pass's next tokens follow.
func (e *Engine) hidden(c *ops.Ctx, m model.Model, p pass) *tensor.Tensor {
	stores := e.stores(c.K, m)
	x := model.Forward(c, m, p.in, func(i int) kv.Store { return &stores[i] }, e.cfg.Recompute)
	t, s, d := x.Shape[0], x.Shape[1], x.Shape[2]
	rows := ops.Gather(c, ops.Reshape(c, x, t, s*d), p.rows)
	return m.Final(c, ops.Reshape(c, rows, len(p.rows), s, d))
}
