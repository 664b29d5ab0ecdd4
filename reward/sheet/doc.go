// Package sheet grades files: each row has a gold answer and an answer, and gets a verdict and the reason for it.
//
// A file is JSON objects, one a line, with the keys gold and answer. [Grade] reads them, judges several at once and hands them
// back in their order, each with the keys equal (true, false, or null where it could not be judged) and why added; other keys
// stay as they were, in their order.
//
// A row that cannot be read (no JSON, no object, no UTF-8, too long) or lacks a key is a fault of the file: it is told with the
// file and the line, and its row says null. A row that can be read and not judged says null too, and is no fault of the file.
//
// Shapes: rows are held in batches, bounded in number and bytes.
// Units: lines count from 1.
// Errors: what is wrong with single rows is in the rows and in the [Summary]; an error of Grade itself is one of reading or
// writing, or that its context ended.
// Sources: ours.
package sheet
