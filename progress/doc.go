// Package progress shows how far a long command has come: a rate, the time left, and a few words of its own.
//
// On a terminal it keeps one line up to date. Elsewhere it writes a plain line now and then, so that a log file or a
// CI page stays readable. Logs written through a [Line] appear above the line instead of inside it. A narrow terminal gets
// fewer parts of the line, the least needed left out first and none cut; its width is asked at each drawing.
//
// Shapes: none.
// Units: what is counted is named by the caller; rates are per second of the clock that the caller passes.
// Errors: a failing writer is nobody's reason to stop a training run; errors of drawing are dropped, those of
// [Line.Write] are returned.
// Sources: ours.
package progress
