// Package servertest asks a rollout server what SGLang's clients ask, over the wire alone, and holds it to the answers they need.
//
// It knows nothing of the server's code: requests are JSON written by hand, answers are looked at as JSON, so that a mistake in the server's own
// types can't hide behind the same mistake here. The checks are numbered T01 to T124 ([Tests]); [Run] asks all that a [Target] can be asked
// and skips the others with a line that says what they lack. [Load] and [Hostile] go on where numbers end: thousands of requests with updates and
// aborts between them, and callers who mean no good. A running server, real SGLang included, is asked by
//
//	go test ./server/servertest -run URL -url http://127.0.0.1:30000
//
// Shapes: a prompt is a list of token ids; a triple is [logprob, id, text or null].
// Units: logprobs in nats; durations in seconds where JSON has them.
// Errors: none; what is wrong fails the test, with the answer that was seen.
// Sources: the surface of SGLang 0.5 and of its callers Miles, slime, verl and sglang-router.
package servertest
