// Package loss turns rewards into advantages and log-probabilities into policy-gradient losses.
//
// Everything is per token of a response and per sample: a micro-batch needs nothing from another one, since what the whole
// batch decides (how much each token counts, [Weights]) is worked out before the first. So the sum of all
// gradients is the same however a batch is cut.
//
// Shapes: every slice has one entry per response token of one sample.
// Units: log-probabilities, KL and entropy in nats; a loss is a weighted sum over tokens whose weights sum to 1 in the mean modes.
// Errors: none but Validate's; slices of unequal length are the caller's bug and panic.
// Sources: the clipped ratio is equation 7 of arXiv:1707.06347, group advantages equation 3 of arXiv:2402.03300, the asymmetric
// clip section 3.1 of arXiv:2503.14476, the KL estimators John Schulman's note on approximating KL; the importance cap of rollout
// against trainer is described in docs/adr/0008-importance-cap.md.
package loss
