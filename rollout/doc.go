// Package rollout is the rollout engine: it draws samples from a policy, many at a time.
//
// [Engine.Run] is a loop on one goroutine. Between two passes it takes orders (new requests, aborts, a pause, new weights); then it asks
// the scheduler for a plan, runs the model over the plan's tokens on pages of attention state, and draws a token for each
// sequence that has reached its end. Everything else talks to the loop through one channel, so nothing in it needs a lock.
//
// The model is the trainer's, block for block, and a row of every kernel depends on nothing but itself. So a token's logprob is the same bits
// whatever else was in the batch, however its prompt was cut, wherever its pages lie, whatever was found in the cache, and as
// the trainer's own forward pass gives.
//
// There are two sets of weights with their layouts. An update is read into the one that nobody uses, held against its manifest, and prepared, while the
// engine goes on with the other. Then, between two passes, the sets are exchanged, a canary is computed, samples in flight are
// retracted, ended, or left in place as [Mode] says, the cache gets a new root, and the version changes. A refused update has touched
// nothing. [Engine.Attestation] says what is served and how that is known; [Engine.Scramble] and [Engine.Compare] put it to the test.
//
// Besides tokens a request can ask for scores of its prompt, likeliest tokens, and experts ([rl.Report]), and bring a constraint and a watcher along. All that is
// told of a token comes from the row of logits that it was drawn from. A request whose response was begun earlier ([rl.Request].Begun) has that computed again as
// a prompt is, or found in the cache, and goes on after it. [Engine.PauseWith], [Engine.Abort], [Engine.Release] and the like are orders as an
// update is, carried out while paused too.
//
// Shapes: T tokens of a pass, R rows whose logits are wanted, V vocabulary.
// Units: lengths and budgets in tokens; logprobs in nats.
// Errors: a request that cannot run is an error that names it, and wraps rl.ErrFull when too many wait. Logits that are no numbers are an error that wraps
// rl.ErrBroken. A panic in a constraint or a watcher ends its own request. A panic in the mathematics ends all requests in flight with an error
// that names the layer and holds the stack; the engine goes on.
// Sources: ours; docs/adr/0006-rollout-engine.md, docs/adr/0011-what-requests-ask-for.md.
package rollout
