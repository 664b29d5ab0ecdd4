// Package starter is the model that comes inside the binary: a DeepSeek-V4 of two million parameters, warm-started on the
// problems of the recipe tiny-arithmetic, so that the main job runs with nothing to download.
//
// It has every kind of layer and both kinds of router. README.md beside the files says with which command and seed it was made; a test holds the
// file to the digest written there.
//
// Shapes: config.json.
// Units: none.
// Errors: none but those of a damaged binary.
// Sources: ours, made by furlong sft from this repository; the recipe's problems are data/arithmetic's.
package starter
