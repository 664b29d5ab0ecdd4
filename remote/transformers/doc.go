// Package transformers asks the public transformers library what it makes of a checkpoint: the other side of a comparison.
//
// A [Process] is a Python interpreter that runs sidecar.py, which this package holds and hands over through a pipe. It loads a directory in the layout of
// Hugging Face with the library's own DeepSeek-V4 model (eager attention, eager experts, no cache, one sequence a pass, nothing fetched from anywhere) and
// answers one question at a time, one JSON object a line: [Process.Hello] what it loaded, [Process.Score] logprobs of given tokens, [Process.Taps]
// intermediate results under the names that ops.Ctx.See shows ours by.
//
// What it is not: an engine. Nothing here trains or serves, no result of ours depends on it, and nobody needs it but for a comparison. It holds no copy of the
// library's code. Taps come from hooks on its modules, from the attention function between them and from the products inside its experts; what none of these
// passes is left out: attn_hc.pre and ffn_hc.pre, which a collapse never gives away.
//
// In float64 the library is kept from rounding its own steps to float32, so that what is left is float64 on the float32 weights and rotation frequencies. In
// bfloat16 its norms, whose weights it keeps wide, are made to return bfloat16 rows, without which it stops.
//
// Shapes: T tokens of one sequence, rows first, no axis for sequences. Taps are float32, or float64 where the model is; choices are int32: experts ascending,
// with weights and expert_* [T, k, ...] in that same order, where our own model has them by rank; index_topk [T, k] has entry numbers ascending, then -1.
// Units: logprobs and entropy in nats.
// Errors: values. A refusal names what was wrong with the question, and the process lives on; a process that died, was ended by a context or a deadline, or
// wrote what is no answer stays dead, and every later question says why.
// Sources: docs/adr/0018-pytorch-reference.md; versions in requirements.txt.
package transformers
