// Package train is the training engine: it scores samples, takes optimizer steps, and publishes weights.
//
// A batch is cut into micro-batches of whole sequences, in order, under a token budget; each is one packed pass over the model with
// a tape. What a token counts in the loss is known before the first micro-batch, and weight gradients are chains over tokens in
// order, so the cut changes no bit of a gradient. The forward pass is the rollout engine's own blocks, so in equal formats
// a token's logprob here is the engine's, bit for bit; [Engine.Step] measures the difference in every step all the same.
//
// A cycle may take several steps: what they compare with is from before the first (steps.go, estimate.go). Beside the actor there may be a reference, a teacher, and a
// critic (critic.go).
//
// Shapes: T tokens of a micro-batch end to end; one logprob for each response token.
// Units: logprobs in nats; budgets in tokens.
// Errors: mathematics panics, and Step and Score turn that into an error with the stack; a step whose loss or gradient is not
// finite is skipped and says so.
// Sources: docs/adr/0004-training-engine.md, docs/adr/0021-critic.md; the losses are train/loss's, the update train/optim's.
package train
