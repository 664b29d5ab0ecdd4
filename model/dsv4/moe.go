package dsv4

import (
	"furlong/ops"
	"furlong/tensor"
)

// experts is one layer's mixture of experts: the chosen ones, weighed, and a shared one that every token passes.
type experts struct {
	cfg    *Config
	router RouterKind

	gate  *tensor.Param // [E, D]
	bias  *tensor.Param // [E], learned routers: moves the choice and never the weight
	table *tensor.Param // [V, k] I32, hash routers

	gateUp, down                     *tensor.Param // [E, 2F, D], [E, D, F]
	sharedGate, sharedUp, sharedDown *tensor.Param // [F, D], [F, D], [D, F]
}

func (m *experts) forward(c *ops.Ctx, in *ops.Tokens, x *tensor.Tensor) *tensor.Tensor {
	k := m.cfg.TopK
	c.See("mlp_in", x)
	logits := ops.Linear(c, x, m.gate) // [T, E]
	c.See("router_logits", logits)
	choice := m.choose(c, in, logits)                               // [T*k]
	w := ops.RouteWeights(c, logits, choice, k, m.cfg.RoutedFactor) // [T, k]
	c.SeeChoice("router_indices", choice)
	c.SeeRoute(choice)
	c.See("router_weights", w)

	plan := ops.NewPlan(choice, k, m.cfg.Experts)
	gu := ops.ExpertLinear(c, ops.Dispatch(c, x, plan), m.gateUp, plan.Off) // [T*k, 2F]
	mid := ops.SwiGLU(c, gu, ops.DispatchWeights(c, w, plan), m.cfg.Limit)  // [T*k, F], weighed
	routed := ops.ExpertLinear(c, mid, m.down, plan.Off)                    // [T*k, D]

	gu = ops.Join(c, ops.Linear(c, x, m.sharedGate), ops.Linear(c, x, m.sharedUp)) // [T, 2F]
	shared := ops.Linear(c, ops.SwiGLU(c, gu, nil, m.cfg.LimitShared), m.sharedDown)
	y := ops.Combine(c, shared, routed, plan)
	c.See("mlp_out", y)
	return y
}

// choose returns each token's experts: from the table row of its id, or the best by score and correction bias.
func (m *experts) choose(c *ops.Ctx, in *ops.Tokens, logits *tensor.Tensor) []int32 {
	k := m.cfg.TopK
	choice := make([]int32, in.Len()*k)
	if m.router == Learned {
		c.K.TopExperts(choice, logits, m.bias.Value, k)
		return choice
	}
	table := m.table.Value.I32()
	for t, id := range in.ID {
		copy(choice[t*k:][:k], table[int(id)*k:][:k])
	}
	return choice
}
