package train

import (
	"context"
	"fmt"
	"math"

	"furlong/dtype"
	"furlong/model"
	"furlong/ops"
	"furlong/rl"
	"furlong/tensor"
	"furlong/train/loss"
	"furlong/train/optim"
)

// CriticConfig says how the critic of ppo is trained.
type CriticConfig struct {
	LR     float64 `flag:"critic-lr" help:"ppo: peak learning rate of the critic; 0 is --lr"`
	Warmup int     `flag:"critic-lr-warmup-iters" help:"ppo: steps of linear warm-up of the critic"`
	Only   int     `flag:"num-critic-only-steps" help:"ppo: cycles at the beginning in which the critic is trained and the actor is not"`
}

// valueHead names the critic's own weight.
const valueHead = "value_head.weight"

// A critic says of each token of a response what is still to come. It is a second model of the actor's shape, whose last hidden state one row of its own
// turns into a number; it begins at 0. What the model's head would make of it is not computed, and that head is not trained.
type critic struct {
	model.Model
	head  *tensor.Param // [1, D]
	optim optim.Config
	opt   *optim.AdamW
}

// newCritic makes m a critic. Its weights must be loaded.
func newCritic(cfg Config, m model.Model, l *lane) *critic {
	wide := m.Head().Value.Shape[1]
	head := &tensor.Param{Name: valueHead, Value: tensor.New(dtype.F32, 1, wide), Product: true}
	c := &critic{Model: m, head: head, optim: cfg.criticOptim()}
	trained := c.trained()
	for _, p := range trained {
		if cfg.FreezeGate && isGate(p.Name) {
			p.Frozen = true
		}
		if !p.Frozen {
			p.Grad = tensor.New(dtype.F32, p.Value.Shape...)
		}
	}
	c.opt = optim.New(c.optim, trained, l.k)
	c.prepare(l)
	return c
}

// criticOptim returns the critic's optimizer: the actor's, with the critic's own rate and warm-up.
func (c Config) criticOptim() optim.Config {
	o := c.Optim
	if c.Critic.LR != 0 {
		o.LR = c.Critic.LR
	}
	o.Warmup = c.Critic.Warmup
	return o
}

// trained returns the parameters that are trained, frozen ones among them: all of the model but its head, and the critic's own.
func (c *critic) trained() []*tensor.Param {
	var out []*tensor.Param
	for _, p := range c.Params() {
		if p != c.Head() {
			out = append(out, p)
		}
	}
	return append(out, c.head)
}

func (c *critic) prepare(l *lane) {
	model.Prepare(l.ctx(), c.Model)
	l.k.Prepare(c.head.Value)
}

// values returns the values [R, 1] of a pass's next tokens: what is still to come before each is there.
func (e *Engine) values(c *ops.Ctx, p pass) *tensor.Tensor {
	return ops.Linear(c, e.hidden(c, e.critic.Model, p), e.critic.head)
}

// scoreCritic fills what the critic says before the cycle's first step, if there is one.
func (e *Engine) scoreCritic(ctx context.Context, samples []*rl.Sample) error {
	if e.critic == nil {
		return nil
	}
	return e.lanes.run(ctx, "score values", samples, e.cfg.MaxTokens, func(l *lane, _ *ops.Turn, p pass) {
		v := e.values(l.ctx(), p).F32()
		p.each(func(s *rl.Sample, lo, hi int) { e.known[s].values = clone(unmasked(s, v[lo:hi])) })
	})
}

// stepCritic takes one step of the critic on a step's samples and writes its figures. A step whose loss or gradient is not finite is not taken, and counted.
func (e *Engine) stepCritic(ctx context.Context, samples []*rl.Sample, stats rl.Stats) error {
	sums, err := e.criticGradients(ctx, samples)
	if err != nil {
		e.critic.opt.ZeroGrad()
		return err
	}
	stats["train/value_loss"] = sums.Loss / sums.Weight
	stats["train/value_clipfrac"] = sums.ClipFrac / sums.Weight
	e.critic.update(sums, e.cfg.Planned, stats)
	e.critic.prepare(e.whole())
	if err := Finite(append(e.critic.Params(), e.critic.head)); err != nil {
		return fmt.Errorf("train: step %d of the critic has left a damaged weight: %w", e.critic.opt.Steps(), err)
	}
	return nil
}

// criticGradients runs all micro-batches of a step through the critic, forward and backward, and returns the step's sums. Gradients add up in its parameters.
func (e *Engine) criticGradients(ctx context.Context, samples []*rl.Sample) (*loss.ValueSums, error) {
	weights := map[*rl.Sample]float64{}
	for i, w := range e.weights(samples) {
		weights[samples[i]] = w
	}
	sums := &loss.ValueSums{}
	err := e.lanes.run(ctx, "critic step", samples, e.cfg.MaxTokens, func(l *lane, turn *ops.Turn, p pass) {
		c := l.ctx().Taped()
		c.Turn = turn
		v := e.values(c, p)
		dv := c.Grad(v).F32()
		turn.Do(sums, func() {
			p.each(func(s *rl.Sample, lo, hi int) {
				k, some := e.known[s], unmasked(s, dv[lo:hi])
				e.cfg.Loss.Value(loss.ValueTokens{New: unmasked(s, v.F32()[lo:hi]), Old: k.values, Returns: k.Returns, Weight: weights[s]}, some, sums)
				spreadTo(s, dv[lo:hi], some)
			})
		})
		c.Unwind()
	})
	return sums, err
}

// update moves the critic's weights, unless the loss or the gradient is not finite.
func (c *critic) update(sums *loss.ValueSums, planned int, stats rl.Stats) {
	lr := c.optim.Rate(c.opt.Steps(), planned)
	norm := math.NaN()
	if sums.Finite() {
		norm = c.opt.Step(lr)
	}
	c.opt.ZeroGrad()
	stats["train/lr-pg_1"], stats["train/grad_norm/critic"] = lr, norm
	if math.IsNaN(norm) || math.IsInf(norm, 0) {
		stats["train/skipped_steps"] = 1
	}
}
