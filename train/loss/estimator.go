package loss

import "slices"

// The estimators of advantages.
const (
	GRPO      = "grpo"                         // reward against its group, over the group's spread
	GSPO      = "gspo"                         // as grpo; the ratio is that of the whole response
	CISPO     = "cispo"                        // as grpo; the ratio is a bounded weight, and every token has a gradient
	RLOO      = "rloo"                         // reward against the mean of the others of its group
	Reinforce = "reinforce_plus_plus"          // discounted sum of rewards to come
	Baseline  = "reinforce_plus_plus_baseline" // reward against its group's mean
	PPO       = "ppo"                          // generalised advantages over a critic's values

	estimators = GRPO + " " + GSPO + " " + CISPO + " " + RLOO + " " + Reinforce + " " + Baseline + " " + PPO
)

// Graded is what an estimator knows of a sample. Slices have one entry a token, or are nil where c does not need them.
type Graded struct {
	Group   int64 // samples of one prompt
	Reward  float64
	Tokens  int
	Old     []float32 // the trainer before the cycle's first step
	Ref     []float32 // the reference, for KL in the reward
	Teacher []float32 // for distillation
	Values  []float32 // the critic's
}

// Advantage is what an estimator says of a sample.
type Advantage struct {
	Mean    float64   // of all its tokens
	Tokens  []float64 // of each; nil where all have the mean
	Returns []float64 // what the critic should have said of each; nil without one
	Reward  float64   // what baseline and spread of the group made of its reward
}

// Estimate returns the advantages of all samples of a cycle, which must be whole groups: baselines are of groups, whitening of all tokens. Samples that
// do not train, and those without tokens, must have been left out.
func (c Config) Estimate(batch []Graded) []Advantage {
	out := make([]Advantage, len(batch))
	for i, r := range c.baselined(batch) {
		g := &batch[i]
		out[i] = Advantage{Mean: r, Reward: r}
		switch {
		case c.Estimator == PPO:
			out[i].Tokens, out[i].Returns = c.generalised(g)
		case c.Estimator == Reinforce:
			out[i].Tokens = c.discounted(c.tokenRewards(g))
		case c.Estimator == Baseline && c.Est.RewardKL != 0:
			out[i].Tokens = c.penalised(g, r)
		}
		if c.Est.Distill {
			out[i].distil(g, c.Est.DistillCoef)
		}
	}
	if c.Est.Whiten {
		whiten(out, batch)
	}
	for i := range out {
		out[i].settle()
	}
	return out
}

// settle sets the mean of advantages that differ by token.
func (a *Advantage) settle() {
	if len(a.Tokens) == 0 {
		return
	}
	sum := 0.0
	for _, v := range a.Tokens {
		sum += v
	}
	a.Mean = sum / float64(len(a.Tokens))
}

// spell gives each of n tokens an advantage of its own.
func (a *Advantage) spell(n int) {
	if a.Tokens == nil {
		a.Tokens = slices.Repeat([]float64{a.Mean}, n)
	}
}

// distil takes from each token's advantage how much likelier the policy holds it than the teacher: reverse KL, one token at a time.
func (a *Advantage) distil(g *Graded, coef float64) {
	a.spell(g.Tokens)
	for t := range a.Tokens {
		a.Tokens[t] -= coef * (float64(g.Old[t]) - float64(g.Teacher[t]))
	}
}

// baselined returns each sample's reward as the estimator compares it within its group.
func (c Config) baselined(batch []Graded) []float64 {
	out, groups := make([]float64, len(batch)), map[int64][]int{}
	for i := range batch {
		out[i] = c.ownReward(&batch[i])
		groups[batch[i].Group] = append(groups[batch[i].Group], i)
	}
	for _, members := range groups {
		rewards := make([]float64, len(members))
		for k, i := range members {
			rewards[k] = out[i]
		}
		for k, v := range c.Advantages(rewards) {
			out[members[k]] = v
		}
	}
	return out
}

// ownReward returns a sample's reward before it is compared: for rloo with the KL of the whole response taken off.
func (c Config) ownReward(g *Graded) float64 {
	r := g.Reward
	if c.Estimator == RLOO && c.Est.RewardKL != 0 {
		for t := range g.Tokens {
			r -= c.Est.RewardKL * c.rewardKL(g, t)
		}
	}
	return r
}

// rewardKL returns the KL estimate of a token by the trainer before the cycle's first step against the reference.
func (c Config) rewardKL(g *Graded, t int) float64 {
	kl, _ := estimate(c.KLType, float64(g.Old[t])-float64(g.Ref[t]))
	if c.KLType == "low_var_kl" {
		kl = clamp(kl, -klBound, klBound)
	}
	return kl
}

// tokenRewards returns what each token earns: minus its KL, and at the last one the reward.
func (c Config) tokenRewards(g *Graded) []float64 {
	out := c.penalised(g, 0)
	if n := len(out); n > 0 {
		out[n-1] += g.Reward
	}
	return out
}

// penalised returns r for each token, with its KL taken off.
func (c Config) penalised(g *Graded, r float64) []float64 {
	out := make([]float64, g.Tokens)
	for t := range out {
		out[t] = r
		if c.Est.RewardKL != 0 {
			out[t] -= c.Est.RewardKL * c.rewardKL(g, t)
		}
	}
	return out
}

// discounted turns what tokens earn into what is still to come at each, in place.
func (c Config) discounted(rewards []float64) []float64 {
	for t := len(rewards) - 2; t >= 0; t-- {
		rewards[t] += c.Est.Gamma * rewards[t+1]
	}
	return rewards
}

// generalised returns advantages and returns by the critic's values. A response ends with its last token, whatever ended it: what follows has value 0.
func (c Config) generalised(g *Graded) (advantages, returns []float64) {
	rewards := c.tokenRewards(g)
	advantages, returns = make([]float64, len(rewards)), make([]float64, len(rewards))
	next, carried := 0.0, 0.0
	for t := len(rewards) - 1; t >= 0; t-- {
		v := float64(g.Values[t])
		carried = rewards[t] + c.Est.Gamma*next - v + c.Est.Gamma*c.Est.Lambda*carried
		advantages[t], returns[t] = carried, carried+v
		next = v
	}
	return advantages, returns
}
