package data

import (
	"fmt"
	"strings"
)

// mostNotes is how many lines a Report names; beyond that it only counts.
const mostNotes = 20

// A Report says what was found in a file and what became of it. Rows is what is left.
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
	Notes       []string // the first lines that were odd, with the reason
}

// note remembers an odd line.
func (r *Report) note(line int, format string, args ...any) {
	if len(r.Notes) < mostNotes {
		r.Notes = append(r.Notes, fmt.Sprintf("line %d: %s", line, fmt.Sprintf(format, args...)))
	}
}

// String returns the report in one line; what did not occur is not mentioned.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d prompts from %d lines of %s", r.Rows, r.Lines, r.File)
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
	if r.Marked {
		b.WriteString("; a byte order mark was skipped")
	}
	return b.String()
}
