// Package metrics is the one table of what a run measures, and the rows that hold it.
//
// A run writes one row a cycle and one an evaluation to metrics.jsonl. A row is a flat JSON object: who it is (kind, cycle, step,
// version, attempt, time), then its series in the order of their names, so that equal rows are equal bytes. Every series
// stands in the table [All] with its unit and meaning, and a row with any other name is refused: a misspelled series would vanish from every chart.
// A row is named by (kind, cycle, attempt), the attempt being the number of the start of the run that wrote it. After a crash some cycles are run again;
// [Merge] lets the highest attempt win and says of the others whether they held the same numbers. [Row.Comparable]
// takes away what may differ between two runs of one seed (the clock, and what follows from it), so that the rest must be equal.
//
// The sub-packages hold the other files of a run: samples, tensorboard, and run, which owns the directory; disk is how all of them write.
//
// Shapes: a row has one float64 a series; an absent series was not measured.
// Units: as the table says; times of day in seconds since 1970, UTC.
// Errors: values. A reader counts what it cannot read and goes on.
// Sources: the names are those of Miles where it has one; the rest are ours. docs/formats/metrics.md is made from the table.
package metrics
