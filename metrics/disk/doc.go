// Package disk writes files so that a crash, a kill or a full disk leaves a whole file or none, and reads files that are still growing.
//
// Two ways of writing cover a run directory. [Replace] is for a file that is complete when it appears: it is written under
// another name, forced to the disk and renamed. An [Appender] is for a file that grows by whole pieces: a piece that could not be
// written to its end is cut off again, so a reader never meets half of one except after a crash, and then only at the end of the file.
// A [Follower] is the other side: it hands out whole lines only, waits for the end of a torn one, and starts again when the file was replaced.
//
// Shapes: a line ends in one line feed, which is not part of it; an offset is the byte at which a line begins.
// Units: sizes and offsets in bytes.
// Errors: values, and each names the file. A missing file is no error for a reader: it has no lines yet.
// Sources: ours; that a rename replaces a file at once is POSIX.
package disk
