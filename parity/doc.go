// Package parity compares two engines that claim to hold one policy: both score the same tokens, and what differs is measured, placed and judged.
//
// A [Side] is an engine of any kind: built in, behind a server, another program's, or a recording. [Check] asks both what they are and refuses pairs whose
// figures would mean different things: other tokenizers, models, lengths, weights, or another meaning of a logprob. Then A draws responses or takes given ones, both
// score them, and [Compare] makes of the logprobs the figures below. [Judge] says in words what they amount to. [Self] holds one engine against itself under
// conditions that must not matter.
//
// With a and b the logprobs of a token under A and B and d = a - b its gap, over the n tokens where both are finite (others are counted, and never average away):
//
//   - mean, max: of |d|; signed: the mean of d. p50, p95, p99, p999: the smallest |d| such that at least that share of tokens has one no larger.
//   - exact: the share of all tokens whose two float32 logprobs have the same bits, not counting non-finite ones. over_0.5, over_2: the share of finite tokens with |d| above that.
//   - k1, k3: estimates of KL(A||B), valid where A drew the tokens. k1 is the mean of d; k3 the mean of exp(-d) - 1 + d, which is never negative.
//   - ratio: mean, least and largest of exp(-d), the probability under B over that under A.
//   - correlation: Pearson's, of exp(a) with exp(b): 1 when equal, undefined (NaN) where one of them does not vary.
//   - by position: the token's place in its response, in buckets 0-63, 64-127, 128-255 and on, doubling. By probability: exp(a), below 0.01, 0.1, 0.5, 0.9, and above.
//     By class: special, digit, letter, space, punctuation, other, from the token's text. By prompt: each sequence.
//   - experts, index: for each layer the share of tokens whose two sets of choices are equal, and the mean over tokens of |both| / |A's| (1 where A's is empty and B's too).
//   - top1: the share of positions at which both hold the same token for the likeliest.
//
// Shapes: one logprob for each token of a response; choices are [rows, width], a row for each token but a sequence's last.
// Units: logprobs and gaps in nats, at temperature 1 over the whole vocabulary (docs/adr/0005-meaning-of-logprobs.md); positions in tokens.
// Errors: a check that fails names both values and what to do ([CheckError]); sides' errors come with the side's name before them.
// Sources: ours; k1 and k3 are John Schulman's estimators ("Approximating KL Divergence", 2020).
package parity
