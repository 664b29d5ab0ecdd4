// Package dash serves pages that show runs: the page's files, and the answers of package dash/store as JSON.
//
// A [Server] is a handler over a shelf of runs. It reads and never writes; GET and HEAD are all it knows. Since whoever can reach it may read prompts and answers, it is
// meant for this machine alone: a request must name a host that is this machine (a page elsewhere could otherwise have its own name point here), must not come from a
// page of another origin, and from outside of the machine must bear a token. [Listen] finds an address, the next free port if one is taken, and [Server.Run] serves it until the
// end. What goes wrong in an answer, a panic included, ends that answer and nothing else, so that a page never ends the run it shows.
//
// Shapes: docs/formats/dash-api.md.
// Units: as there.
// Errors: answers with a status and an api.Error; Run returns what ended it.
// Sources: server-sent events are those of the HTML standard; Sec-Fetch-* those of Fetch Metadata.
package dash
