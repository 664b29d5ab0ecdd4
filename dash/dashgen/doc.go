// Package dashgen makes runs that never happened, for tests of what shows runs: any number of cycles and samples, from a seed, with faults in known places.
//
// [Make] writes a whole run directory as a trainer would have left it: rows, samples and their index, spans, evaluations, loads of experts, settings, log and alarms. Rewards
// are the means of the samples drawn, phases add up to the cycle's time, and intervals come from real bootstraps, so that what a reader computes can be held against what stands there.
// Faults are planted at fixed cycles and listed in planted.json. Two runs of one seed are the same bytes, but for what names the machine where a run is to look as if it crashed on it.
//
// Shapes: those of the run directory. Units: those of package metrics; the clock begins at a fixed second.
// Errors: those of the disk; a directory that holds a run already.
// Sources: ours.
package dashgen
