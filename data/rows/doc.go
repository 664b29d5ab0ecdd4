// Package rows reads files of rows, jsonl or Parquet, one row after the other, as JSON objects.
//
// A [File] hands out what stands in it and judges nothing but its form: a row that is no JSON object, no UTF-8 or longer
// than the limit comes with its Fault and the next one follows. Which format a file has is seen from its first bytes.
// Rows of a Parquet file are written as JSON, one key for each column, so that whoever reads them needs to know one
// format: lists become arrays, groups and maps objects, missing values null; text is kept byte for byte. Columns whose
// values JSON has no form for (dates of 96 bits, fixed bytes, decimals), or that the
// library misreads (truth values as run lengths), are left out and named by [File.LeftOut].
//
// Memory is bounded by the longest line, or by the pages of one row group of a Parquet file. A hostile Parquet file can
// claim more than it has: the length of its footer, the sizes and counts of every page and the depth of its columns are
// checked before the library sees them, and a panic of the library is an error.
//
// Shapes: one JSON object a row, in the file's order. Units: sizes and offsets in bytes; lines count from 1, rows of
// Parquet from 1 too. Errors: name the file, and the line or row where there is one; a Fault does not end the file, an
// error does.
// Sources: the Parquet format of the Apache project, read through github.com/parquet-go/parquet-go
// (docs/adr/0020-parquet.md); assembling nested columns by levels is the method of the Dremel paper (VLDB 2010).
package rows
