// Package report tells a run on one page that needs nothing else: no script, no network, no program.
//
// [Read] takes what a run directory holds, whatever became of the run: finished, going on, crashed, or never begun. [Run.Figures] draws the seven figures of the dashboard's overview,
// [Run.HTML] sets the page: the four sentences of package verdict, the figures, evaluations, alarms, time, settings, ten samples token by token, and how to make the run again. It opens from a disk, prints on
// A4, and is readable in light and dark. What a file of the run says is text on the page and nothing else: html/template escapes it, and characters that are not seen stand in boxes.
//
// What is missing is said to be missing, and what could not be read is named with its file; neither ends the making of a page. The page is kept below [Largest] by showing fewer samples.
//
// Shapes: none. Units: as in package metrics. Errors: a directory that cannot be read at all.
// Sources: ours.
package report
