// Package sglang is a rollout engine that others run: servers of SGLang's dialect, `furlong serve` or SGLang itself, one or many.
//
// An [Engine] asks each server first what it is and what it can ([Found]). Of a batch it sends every sample to the server with the fewest tokens
// outstanding, and asks for tokens, logprobs and versions back, never for text. What comes back is held to what was asked: ids, lengths, logprobs that are
// logprobs, a version that this engine has given. A sample whose server died, was full, or answered nonsense is drawn anew elsewhere, under a name of its
// own, after the old one is known to have ended; seeds belong to samples, so the same tokens come. A consumer sees each sample once, whatever happened.
//
// A server that fails gets no work until it has done some: a token, under the right weights. One that holds other weights than the last update gave, as a process
// does that was started anew, is given those again, and gets work when it has said, and where it can attested, that it holds them; what refuses them thrice gets none
// before the next update. So the only server of a run may be restarted while it generates: what it had in hand is drawn anew.
// A restart shows in the first answer: `furlong serve` names its process in all of them, and other servers call their weights otherwise. A server that was given weights and did not prove them
// generates no more until it has. All of this is counted ([Stats]) and said.
//
// A request that goes on after what was begun ([rl.Request].Begun) sends these tokens behind the prompt's, and [Engine.Abort] ends requests by their names at
// their servers. `furlong serve` is told where the response began, and goes on with it bit for bit. SGLang can't be told: under deterministic inference its
// draw of a token depends on the seed and the token's place in prompt and response together, so pieces make the whole there too as far as its logits are those of one
// pass; penalties would count from the piece's beginning, and are refused.
//
// Weights are read and held against their manifest here, and then pushed: to `furlong serve` as a stream of safetensors, in a session that changes all of a
// server's weights or none; to SGLang as a checkpoint in a folder that both see. A server counts as updated when it says the new version itself. The version that is served
// stays in memory, or in that folder, for servers that are started anew. An update waits for servers that die in its middle, if none is left.
//
// Shapes: as in package rl.
// Units: as in package rl; load in tokens, sizes in bytes.
// Errors: values. A request that servers call wrong fails at once; what is not the request's fault is tried again, --rollout-retries times.
// Sources: docs/adr/0015-remote-engines.md; the dialect is package api/sglang's.
package sglang
