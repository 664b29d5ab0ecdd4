// Package kernels says what a compute backend must do: every kernel, its shapes, and the order of its sums.
//
// Both engines run the model through one [Backend]. What makes rollout and training hold one policy is
// batch invariance: a row of an output depends on that row of the inputs and on the rows it names, never on how many
// other rows there are, on the number of threads, or on where in a pool a row lies. Hence no sum is cut
// by shape, tails are padded and not looped apart, and nothing is added in order of arrival.
//
// The order of sums, for every backend of one device class, bit for bit (docs/adr/0003-order-of-sums.md):
//
//   - products of matrices: one chain of fused multiply-adds from zero over ascending k, in float32;
//   - weight gradients: one chain that starts from the gradient already there and goes over ascending rows (tokens),
//     so that cutting a batch into micro-batches in order leaves the same bits;
//   - sums inside a row (norms, dots of attention, softmax): 8 lanes, element i in lane i&7, each a chain over
//     ascending i, then ((0+4)+(2+6))+((1+5)+(3+7));
//   - weighted sums of rows (attention values, pooling, streams, experts): one chain of fused
//     multiply-adds an element, rows in the order given;
//   - exp, log and what is made of them: the polynomials of kernels/ref, never the platform's.
//
// Conventions: outputs come first, then inputs, then sizes and scalars. Forward kernels overwrite, backward kernels add to
// gradients unless they say otherwise. A nil gradient is not wanted and is skipped. Outputs never alias inputs unless a kernel says so.
//
// Shapes: T tokens, D channels, H heads, S streams, N out, K in, E experts, R rows of a pool, V vocabulary.
// Units: logits and logprobs in nats; angles in radians.
// Errors: a wrong shape is a bug and panics: "linear: x is [4, 32], want [4, 64]".
// Sources: DeepSeek-V4 as published, by way of the public transformers implementation; each kernel names its formula.
package kernels
