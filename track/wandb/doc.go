// Package wandb has a run's metrics written in the form of Weights & Biases, by its own public client.
//
// The form of an offline run is that client's business: a log of protocol buffers whose schema moves with its releases, and whose Go parts are not offered as a
// module to build on. So a Python interpreter runs sidecar.py, which this package holds. It reads metrics.jsonl, from where it stopped the last time, follows
// it while the run goes on, and gives each row to the client with the cycle as its axis. Training never waits for it and never fails because of it.
//
// Rows go out once: what has been given to the client is noted in the run's directory, with the id under which it is known there, so that a resumed run goes on in the same place.
//
// Shapes: a row of metrics.jsonl is one call of the client. Units: those of the series.
// Errors: [Start] says what is missing (an interpreter, the client) and how to install it; later errors are logged lines of the process.
// Sources: docs/adr/0028-trackers.md.
package wandb
