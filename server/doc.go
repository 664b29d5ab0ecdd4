// Package server serves a rollout engine over HTTP, in the dialect of SGLang and beside it of OpenAI.
//
// [New] ties an engine, a tokenizer and the facts about a model to a table of routes; [Server.Handler] answers requests and [Server.Run] does what must be done
// without any: it draws one token to prove that the engine works, keeps a heartbeat, and takes figures each second. Each file holds the endpoints of one topic
// and a method that lists them (controlRoutes, healthRoutes, ...), which routes.go joins; to add an endpoint is to add a row.
//
// A sample in flight is a job. Handlers of either dialect make specs, which say what is wanted in no dialect's words, and
//
//	answers, err := s.all(ctx, specs)          // waits for all of them
//	err := s.each(ctx, specs, every, func(i int, a *answer) error { ... }) // tells of progress too; the last of each job has a finish
//
// carry them out. Both register the jobs under their rids, refuse a rid that is in flight, end the jobs when ctx does, and return when all have ended. An answer is
// a snapshot: text, tokens, logprobs, the spans of versions and why it ended, so far; nobody changes it afterwards. Between engine and handlers stands the
// job's watch, which the engine calls after each token: it decodes, looks for stop texts, and rings a bell. It never waits, so that a slow reader costs nobody
// else anything; who reads slowly sees fewer, longer snapshots.
//
// The engine knows weights by rl.Version; the wire knows labels, any text. labels goes from one to the other: who updates weights calls
// labels.set before the engine takes them up, so that no token is ever without its label.
//
// Shapes: an answer has a logprob a token; prompt logprobs stand for the last tokens of the prompt.
// Units: tokens; nats; times are time.Duration inside and seconds on the wire.
// Errors: what a client did wrong is a refusal: a sentence that names the field, what was seen and what is wanted, with an HTTP status. All other errors are the
// server's and have a status of 500 or above; they are logged.
// Sources: the behaviour of SGLang 0.5, described from its public source and its callers; docs/adr/0014-server.md says where we differ and why.
package server
