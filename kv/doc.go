// Package kv keeps the attention state of a pass: which rows exist, and which of them each token reads.
//
// A layer puts rows into streams (one row a token, or one a closed window) and sees them through views. Training keeps
// a pass's own rows ([InPlace]): gradients flow into them. Rollout keeps rows in pages that outlive a pass ([Pages]), shares them
// between sequences with equal prefixes of one space, and takes them back under pressure. What a token chose (experts, compressed entries) can lie there too, as bytes.
// A view lists rows in position
// order in both, so attention sums the same numbers in the same order.
//
// Shapes: rows of a stream are [n, width]; positions count tokens, or windows of m tokens for compressed streams.
// Units: a page is counted in tokens; capacities are in pages.
// Errors: in the maths (Put, See) a row that is not there is a bug and panics. Running out of pages is an answer, not an error.
// Sources: state and visibility rules are DeepSeek-V4's; paging follows the idea of vLLM, prefix reuse that of SGLang's radix cache.
package kv
