// Package recorded stands in for an engine: recorded rollouts for the one that generates, a trainer that holds still for the one that trains.
//
// A [Replay] is a prompt source and a rollout engine over files of package rollouts: it hands out the recorded prompts in order and answers each request
// with the recorded sample, under whatever weights. A [Recorder] is a trainer that writes each batch down before it passes it on to another. A [Still] is a trainer
// that takes no steps and publishes one policy. An [Injector] is a trainer that has another train on recorded samples in the place of the drawn ones, and holds these
// against them. So a run can do
// without either engine, and the loop does not know.
//
// Units: versions that a recording names count the publications of its run. A Replay moves all of a cycle by one number, so that the newest is the one
// served and ages stay.
// Errors: values that name the file; what a run could know before it begins, [Open] says.
// Sources: docs/adr/0025-recorded-rollouts.md.
package recorded
