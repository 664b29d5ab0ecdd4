// Package sglang holds the wire types of SGLang's native HTTP dialect: what clients send, what servers answer, how errors and streams are framed.
// Servers, clients and routers share it, so that they cannot differ about a key. It has no behaviour beyond reading and writing.
//
// [Decode] reads a request as the dialect wants it: keys by their exact names, the last of equal keys, null for absent, keys that nobody knows
// ignored; but inside of sampling_params a key that nobody knows is an error that names the nearest one, since a mistyped temperature must not sample
// at another. Types are strict: "5" is no number. Several fields hold a value for the whole batch or one for each of its prompts; they are an [Each],
// and an [IDs] where a single value is itself a list. Types marshal to what a server of the dialect reads, with absent fields left out.
//
// Shapes: lists of logprobs have an entry a token; of alternatives a list a token, null where there is none.
// Units: logprobs in nats; times in seconds, as floats; versions are labels, any text.
// Errors: what cannot be read is an error that begins with the field and says what was seen and wanted. Floats that are not finite are written as
// null, and null is read as NaN.
// Sources: the behaviour of SGLang 0.5, described from its public source and its callers; differences that are meant are in docs/adr/0014-server.md.
package sglang
