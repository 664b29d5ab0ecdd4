// Package run owns the directory of a run: who writes it, whether it is alive, and every file in it but the checkpoints.
//
// A [Dir] is made by [Create] for a new run or [Resume] for one that ended or died. It holds a lock that the kernel frees when the process
// ends, however it ends, so a run has one writer and a reader can tell a living run from a dead one without trusting a clock. Each start is an
// attempt, counted from 1, and every row says which attempt wrote it. [Dir.Run] keeps a heartbeat in status.json; the Write methods add rows, spans,
// samples, evaluations and the rest; [Dir.End] writes how it ended. The Read and Parse functions are the way back, and [ReadLife] tells what to think of a run.
//
// Shapes: one JSON object a line in .jsonl files; docs/formats/run-directory.md lists the files.
// Units: times of day in seconds since 1970, UTC; cycles count from 1.
// Errors: values that name the file; [HeldError] when another process writes the run. Readers take what is missing, torn or damaged for what it is
// and go on.
// Sources: ours; the lock is fcntl(2), F_OFD_SETLK.
package run
