// Package diverge says what the differences that package taps found amount to: which op is the first that its inputs do not explain.
//
// Shapes: a finding is of one sequence; positions count its tokens.
// Units: errors and limits as in package taps.
// Errors: those of a judge's passes.
// Sources: ours.
package diverge
