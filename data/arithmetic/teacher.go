package arithmetic

// A Teacher writes solutions and forgets carries. The zero Teacher forgets nothing.
type Teacher struct {
	Plus, Minus, Times float64 // probability of forgetting one carry or borrow, by sign
}

// R1 returns the teacher whose products are nearly hopeless. Pupils hardly find that skill again; prefer [R2].
func R1() Teacher { return Teacher{Plus: 0.4, Minus: 0.6, Times: 0.9} }

// R2 returns the recommended teacher, who forgets two carries in three and scores about 0.35 at one try, 0.80 at eight.
func R2() Teacher { return Teacher{Plus: 0.65, Minus: 0.65, Times: 0.65} }

// Solve writes a solution of p with mistakes drawn from r, one draw for each carry that comes up. A wrong result is
// carried on into the next equation.
func (t Teacher) Solve(p Problem, r *Rand) string {
	return p.work(func(sign byte) bool { return r.Chance(t.forgets(sign)) })
}

// forgets returns the probability for a sign.
func (t Teacher) forgets(sign byte) float64 {
	switch sign {
	case '+':
		return t.Plus
	case '-':
		return t.Minus
	}
	return t.Times
}
