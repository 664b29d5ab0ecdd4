package loss

import "math"

// wholeRatio returns the ratio of new to old policy of a whole response, by token: the geometric mean of its tokens' ratios, with its exponent bounded; and the
// derivative in that exponent, 0 beyond the bound.
func (c Config) wholeRatio(t *Tokens) (r, dr float64) {
	sum := 0.0
	for i, old := range c.before(t) {
		sum += float64(t.New[i]) - float64(old)
	}
	return ratio(sum/float64(len(t.New)), 0)
}

// shareOut gives every token of a sample the gradient that the whole response's ratio has in its logprob: pull is the sum over tokens of what the loss has in the
// exponent, which is the mean of the tokens' distances. A sample whose pull is no number has none; its step is not taken.
func shareOut(dlp []float32, pull float64) {
	if math.IsNaN(pull) || math.IsInf(pull, 0) {
		pull = 0
	}
	each := pull / float64(len(dlp))
	for i := range dlp {
		dlp[i] = float32(float64(dlp[i]) + each)
	}
}
