package loss

// Used appends to out what multiplies the policy term of each token of t under the correction: its importance after bounds, rejection and normalisation.
// It reads Old, Rollout and Mean. Without rollout logprobs there is none.
func (c Config) Used(out []float64, t Tokens) []float64 {
	if t.Rollout == nil {
		return out
	}
	r := c.rule()
	j := r.judge(&t)
	for i := range t.Old {
		w := j.token(t.raw(i)).used
		if t.Mean != 0 {
			w /= t.Mean
		}
		out = append(out, w)
	}
	return out
}
