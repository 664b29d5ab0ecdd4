// Package loss turns rewards into advantages and log-probabilities into policy-gradient losses.
//
// Everything is per token of a response and per sample: a micro-batch needs nothing from another one, since what the whole
// batch decides (how much each token counts, [Config.Weights]; the mean of importance weights, [Config.MeanWeight]) is worked out before
// the first. So the sum of all gradients is the same however a batch is cut.
//
// Advantages are of a whole cycle ([Config.Estimate] in estimator.go), before its first step; what they multiply is decided token by token in policy.go, or
// for a whole response in sequence.go.
//
// What a sample's tokens weigh because another policy than the trainer's drew them is decided in correction.go, by one rule for all methods; it
// depends on the logprobs before the step alone, and no gradient goes through it.
//
// Shapes: every slice has one entry per response token of one sample.
// Units: log-probabilities, KL and entropy in nats; a loss is a weighted sum over tokens whose weights sum to 1 in the mean modes.
// Errors: none but Validate's; slices of unequal length are the caller's bug and panic.
// Sources: the clipped ratio is equation 7 of arXiv:1707.06347, group advantages equation 3 of arXiv:2402.03300, the asymmetric
// clip section 3.1 of arXiv:2503.14476, the KL estimators John Schulman's note on approximating KL, the masked ratio arXiv:2510.18855;
// the ratio of a response arXiv:2507.18071, the bounded weight arXiv:2506.13585, others as baseline arXiv:2402.14740, REINFORCE++ arXiv:2501.03262, generalised
// advantages arXiv:1506.02438, spared tokens arXiv:2505.22617; the corrections of trainer
// against rollout engine are decided in docs/adr/0008-importance-cap.md and explained in docs/corrections.md.
package loss
