// Package openai holds the wire types of OpenAI's HTTP dialect, as SGLang speaks it: completions, conversations, their streams, lists of models.
//
// A request is read in two halves, what it asks for and [Sampling], the settings of drawing tokens that both endpoints share and that become parameters
// of the native dialect by [Sampling.Params]. Keys that nobody knows are ignored, as clients of the dialect rely on; types are strict.
//
// Shapes: a choice for each sample of each prompt, prompts first; lists of logprobs have an entry a token.
// Units: logprobs in nats; created in seconds since 1970.
// Errors: what cannot be read is an error that begins with the field. Floats that are not finite are written as null.
// Sources: OpenAI's public API reference; extensions and shapes of errors as SGLang 0.5 has them; docs/adr/0014-server.md.
package openai
