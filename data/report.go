package data

import (
	"fmt"
	"slices"
	"strings"
)

// mostNotes is how many lines a Report names; beyond that it only counts.
const mostNotes = 20

// A Report says what was found in a file, or in all files of a mix, and what became of it. Rows is what is left.
type Report struct {
	File        string
	Lines       int // not counting blank ones
	Blank       int
	Outside     int // not in the slice, not looked at
	Malformed   int // no JSON object; left out
	EmptyLabels int // left out
	TooLong     int // left out
	Duplicates  int // rows with the text and label of an earlier row
	Conflicts   int // rows with the text of an earlier row and another label; kept
	Dropped     bool
	Marked      bool // the file began with a byte order mark
	Rows        int
	LeftOut     []string // columns of Parquet that have no form in JSON; not read
	Notes       []string // the first lines that were odd, with the reason

	parquet bool
}

// note remembers an odd line.
func (r *Report) note(line int, format string, args ...any) {
	if len(r.Notes) < mostNotes {
		r.Notes = append(r.Notes, fmt.Sprintf("%s %d: %s", r.word(), line, fmt.Sprintf(format, args...)))
	}
}

// word returns what the file counts.
func (r *Report) word() string {
	if r.parquet {
		return "row"
	}
	return "line"
}

// add adds another file's counts.
func (r *Report) add(o Report) {
	r.File += " and " + o.File
	r.Lines += o.Lines
	r.Blank += o.Blank
	r.Outside += o.Outside
	r.Malformed += o.Malformed
	r.EmptyLabels += o.EmptyLabels
	r.TooLong += o.TooLong
	r.Duplicates += o.Duplicates
	r.Conflicts += o.Conflicts
	r.Rows += o.Rows
	r.Marked = r.Marked || o.Marked
	r.LeftOut = append(slices.Clip(r.LeftOut), o.LeftOut...)
	r.Notes = append(slices.Clip(r.Notes), o.Notes...)
}

// String returns the report in one line; what did not occur is not mentioned.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d prompts from %d %ss of %s", r.Rows, r.Lines, r.word(), r.File)
	duplicates := "duplicates kept"
	if r.Dropped {
		duplicates = "duplicates left out"
	}
	for _, c := range []struct {
		n    int
		what string
	}{
		{r.Blank, "blank lines besides"},
		{r.Outside, "outside of the slice"},
		{r.Malformed, "malformed lines left out"},
		{r.EmptyLabels, "with an empty label left out"},
		{r.TooLong, "too long and left out"},
		{r.Duplicates, duplicates},
		{r.Conflicts, "with the text of an earlier row and another label, kept"},
	} {
		if c.n > 0 {
			fmt.Fprintf(&b, "; %d %s", c.n, c.what)
		}
	}
	if len(r.LeftOut) > 0 {
		fmt.Fprintf(&b, "; columns not read: %s", strings.Join(r.LeftOut, ", "))
	}
	if r.Marked {
		b.WriteString("; a byte order mark was skipped")
	}
	return b.String()
}
