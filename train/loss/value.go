package loss

// ValueTokens are one sample's response as a critic sees it.
type ValueTokens struct {
	New     []float32 // values by the critic in training
	Old     []float32 // by the critic before the cycle's first step
	Returns []float64 // what it should have said
	Weight  float64   // of each token, from Config.Weights
}

// ValueSums gathers the weighted sums of a critic's step.
type ValueSums struct {
	Loss, ClipFrac, Values, Returns float64
	Weight                          float64
}

// Finite says whether the loss is a number.
func (s *ValueSums) Finite() bool { return finite(s.Loss) }

// Value adds one sample to s and writes the gradient of the loss with respect to each value. The loss of a token is the larger of two squared errors: that
// of its value, and that of the value kept near what it was, which stops what has moved far enough.
func (c Config) Value(t ValueTokens, dv []float32, s *ValueSums) {
	for i, new := range t.New {
		v, old, want := float64(new), float64(t.Old[i]), t.Returns[i]
		kept := old + clamp(v-old, -c.Est.ValueClip, c.Est.ValueClip)
		loss, grad := (v-want)*(v-want), 2*(v-want)
		if bound := (kept - want) * (kept - want); bound > loss {
			loss, grad = bound, 0
			s.ClipFrac += t.Weight
		}
		s.Weight += t.Weight
		s.Loss += t.Weight * loss
		s.Values += t.Weight * v
		s.Returns += t.Weight * want
		dv[i] = float32(t.Weight * grad)
	}
}
