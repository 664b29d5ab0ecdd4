// Package gather fetches what the loop trains on: it hands out prompts, has whole groups of samples drawn and graded, filters them, keeps what is not
// needed yet, and makes batches.
//
// One mechanism serves all loops. A decision (how many prompts to hand out now, whether the batch is there, which groups are in it, which are too
// old) is made by a stock of groups that reads no clock and starts nothing; a [Gatherer] carries it out: a goroutine for each group that is
// drawn, and one that grades. In the loops that know their batches beforehand, [Gatherer.Begin] begins one and [Gatherer.Await] waits for it. In
// the fully asynchronous loop [Gatherer.Open] lets samples be drawn without end, [Gatherer.Take] takes the next batch of those that are fresh
// enough, and [Gatherer.Park] brings everything in flight to rest, so that it can be saved and gone on with.
//
// Nothing is lost in silence. An [Account] says of every prompt that was handed out, every sample and every token whether it trained, was
// masked, waits, or was dropped, and why. What waits is counted where it lies and everything else where it happens, so that the sum is a check.
//
// What an engine hands back is held to what was asked for ([rl.Request.CheckSample]); so is what a checkpoint holds, and what a batch is made of, to what any sample is.
//
// Shapes: a group is the samples of one prompt, n of them; a batch is whole groups in the order in which their prompts were handed out.
// Units: ages are counted in versions: the one served minus the one that chose a token.
// Errors: what an engine fails at is tried again from the tokens that were there, a group that fails too often is dropped and counted, and as many in a row
// as a batch holds end the run. An answer that cannot be counts as such a failure, and nothing of it is used. A filter that keeps next to nothing ends it as well, with what it saw.
// Sources: over-sampling, partial rollout and staleness have the names that Miles gives them; dynamic sampling is DAPO's, arXiv:2503.14476, section 3.2.
package gather
