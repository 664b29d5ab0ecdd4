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
	choice := m.choose(c, in, logits) // [T*k]
	c.Route(choice)
	w := ops.RouteWeights(c, logits, choice, k, m.cfg.RoutedFactor) // [T, k]
	c.See("router_weights", w)

	plan := ops.NewPlan(choice, k, m.cfg.Experts)
	routed := m.routed(c, x, w, plan)                 // [T*k, D]
	y := ops.Combine(c, m.shared(c, x), routed, plan) // [T, D]
	c.See("mlp_out", y)
	return y
}

// routed returns what the chosen experts make of x, weighed, in the order of plan: [T*k, D].
func (m *experts) routed(c *ops.Ctx, x, w *tensor.Tensor, plan ops.Plan) *tensor.Tensor {
	gu := ops.ExpertLinear(c, ops.Dispatch(c, x, plan), m.gateUp, plan.Off) // [T*k, 2F]
	c.SeeSlots("expert_gate_up", gu, plan)
	mid := ops.SwiGLU(c, gu, ops.DispatchWeights(c, w, plan), m.cfg.Limit) // [T*k, F]
	c.SeeSlots("expert_mid", mid, plan)
	y := ops.ExpertLinear(c, mid, m.down, plan.Off)
	c.SeeSlots("expert_out", y, plan)
	return y
}

// shared returns what the shared expert makes of x: [T, D].
func (m *experts) shared(c *ops.Ctx, x *tensor.Tensor) *tensor.Tensor {
	gu := ops.Join(c, ops.Linear(c, x, m.sharedGate), ops.Linear(c, x, m.sharedUp)) // [T, 2F]
	c.See("shared_gate_up", gu)
	mid := ops.SwiGLU(c, gu, nil, m.cfg.LimitShared) // [T, F]
	c.See("shared_mid", mid)
	y := ops.Linear(c, mid, m.sharedDown)
	c.See("shared_out", y)
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
