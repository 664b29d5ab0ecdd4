// Command formats makes the figures of docs/parity.md: what it costs that a rollout engine and an actor hold their weights in different formats.
//
//	go run ./cmd/formats split
//	go run ./cmd/formats runs PLOT-PREFIX RUN-DIRECTORY...
//	go run ./cmd/formats drift RUN-DIRECTORY...
//
// The first draws answers from the model inside the binary with an engine in FP8 and scores the same tokens with trainers in BF16,
// in FP8 without rounded activations, and in FP8, so that the difference falls into a part of the weights and a part of the activations.
// The second reads finished runs and prints a table of their gap, reward and evaluation; it draws the curves into three SVG
// files. The third prints how the gap went over the cycles.
//
// Shapes: none. Units: nats for gaps. Errors: on stderr, exit code 1; 2 for a wrong call. Sources: ours.
package main
