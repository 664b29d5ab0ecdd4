// Package sample draws tokens from logits.
//
// The draw of token i of a response depends on the row of logits, the settings and (seed, i) alone: a counter hashed to one number in
// [0, 1), looked up in the cumulative distribution. So a response does not change with the company it is computed in, and one that
// was interrupted goes on as if it had not been.
//
// Before that a [Shaper] may change the row: it forbids tokens, which then have the logit -Inf, and moves others. What logprobs are reported of
// is the row after it.
//
// Truncation keeps, in this order, the TopK likeliest tokens, of those the likeliest until their share of all tokens exceeds TopP,
// and of those the ones at least MinP times as likely as the likeliest. On equal logits the smaller id comes first.
//
// Shapes: a row of logits is [V].
// Units: logprobs in nats. Weights are relative to the likeliest token; one below exp(-60) of it counts as 0, since a draw has 53 bits.
// Errors: a row with NaN or +Inf, or without a finite number, is an error and yields no token.
// Sources: the counter generator is splitmix64 (Steele, Lea, Flood 2014); the order of truncations is SGLang's.
package sample
