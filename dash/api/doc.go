// Package api is what the dashboard's server says: the shapes of its JSON, one type an answer.
//
// The page, the report and tests speak of a run in these words and in no others; docs/formats/dash-api.md lists the paths and says what is asked for. Every type
// here is plain data. [Number] is how a measured number travels: with the very digits that stand in the run's files, so that what a
// person reads on a page is what the run wrote.
//
// Shapes: columns of an answer have one entry a row; a missing number is null, one that is not finite the string "NaN", "Infinity" or "-Infinity".
// Units: as in metrics.jsonl; times of day in seconds since 1970, durations in seconds, gaps and logprobs in nats.
// Errors: an [Error] with the status of the answer.
// Sources: ours.
package api
