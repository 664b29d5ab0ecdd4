// Package sft is supervised training: it makes a model imitate given responses.
//
// It is the training engine under another loss. What it trains on is any sequence of prompts with responses, gone
// through as often as the number of steps asks for; a generator and a jsonl file look alike.
//
// Shapes: a batch is Config.Batch samples.
// Units: losses in nats a response token; rates in tokens a second, prompts included.
// Errors: data without an example, and whatever the engine says; a run of skipped steps stops it.
// Sources: ours.
package sft
