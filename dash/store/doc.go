// Package store reads the directories of runs for whoever shows them, and answers in the shapes of dash/api.
//
// A [Run] follows one directory, which may be growing, torn, damaged or long finished. Rows of metrics.jsonl become float64 columns, kept up to a bound; the others are read
// from the file again when asked for. What is sent of many rows are rows too, never means: [Run.Rows] keeps per pixel and series the first, last, least and greatest (M4), so that the
// line drawn is the exact one at that width and every point is one that the run wrote, digit for digit. Moving averages and fits are computed on all rows before that.
// Samples are found by a filter over the columns of their index, block by block, skipping blocks whose extremes rule them out; tokens are read from the body of one sample at a
// time. [Shelf] is many runs.
//
// Nothing is written, but for an index that [Run.Reindex] makes in a folder of its own. Files are opened below the run's directory only: a link that leads out of it is a file that cannot be read.
//
// Shapes: answers are those of package api; [Filter] is a conjunction of terms over the columns of samples.Row.
// Units: as in the files; the axis "time" in seconds since the first attempt began.
// Errors: [*Asked] for what the asker can mend, with the status it stands for. What of a file cannot be read is counted, named in [api.Head] and left out.
// Sources: M4 is Jugel et al., PVLDB 7 (2014) 797; moving averages, fits and shares are those of docs/dashboard.md.
package store
