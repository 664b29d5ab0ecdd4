package doctor

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"furlong/metrics/disk"
)

// A Fixed says what became of the rows.
type Fixed struct {
	Out, LeftOutFile string
	Kept             int
	LeftOut          map[string]int // by kind of finding
}

// A leftOut is a line of the file of rows that were left out.
type leftOut struct {
	File string `json:"file"`
	Row  int    `json:"row"`
	Kind string `json:"kind"`
	Why  string `json:"why,omitempty"`
}

// LeftOutFile is where Fix says of each row that is not in out why.
func LeftOutFile(out string) string { return strings.TrimSuffix(out, ".jsonl") + ".left-out.jsonl" }

// Fix writes the rows that harm no run to out, in their order and as they stand, and beside it to out.left-out.jsonl which
// rows are missing, and why. Rows of Parquet are written as JSON. Of rows with one problem the first stays, and none if
// they have different labels. What is only noted stays, but for prompts that are too long.
func (e *Examination) Fix(ctx context.Context, out string) (*Fixed, error) {
	f := &Fixed{Out: out, LeftOutFile: LeftOutFile(out), LeftOut: map[string]int{}}
	err := disk.Replace(f.LeftOutFile, func(why io.Writer) error {
		reasons := bufio.NewWriter(why)
		err := disk.Replace(out, func(w io.Writer) error {
			rows := bufio.NewWriter(w)
			if err := e.copy(ctx, f, rows, json.NewEncoder(reasons)); err != nil {
				return err
			}
			return rows.Flush()
		})
		if err != nil {
			return err
		}
		return reasons.Flush()
	})
	return f, err
}

// copy writes the rows that stay.
func (e *Examination) copy(ctx context.Context, f *Fixed, rows *bufio.Writer, reasons *json.Encoder) error {
	for i := len(e.Against); i < len(e.names); i++ {
		err := e.each(ctx, i, "writing", func(s *seen) error {
			w, err := e.verdict(ctx, s)
			if err != nil {
				return err
			}
			if w.kind != "" {
				f.LeftOut[w.kind]++
				return reasons.Encode(leftOut{e.names[s.file], s.Number, w.kind, w.what})
			}
			f.Kept++
			if _, err := rows.Write(s.Text); err != nil {
				return err
			}
			return rows.WriteByte('\n')
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// verdict returns why a row is left out, the zero why if it stays.
func (e *Examination) verdict(ctx context.Context, s *seen) (why, error) {
	faults, err := e.faults(ctx, s)
	if err != nil {
		return why{}, err
	}
	for _, w := range faults {
		if harms(w.kind) || w.kind == "too-long" {
			return w, nil
		}
	}
	at, ok := e.byText[s.text]
	if !ok {
		return why{}, fmt.Errorf("%s: file has changed while it was examined", s.place)
	}
	p := &e.problems[at]
	first := int(p.file) == s.file && int(p.number) == s.Number
	switch {
	case p.against:
		return why{"overlap", "as " + e.placeOf(at)}, nil
	case p.overlap > 0:
		return why{"near-overlap", "nearly " + e.placeOf(p.overlap-1)}, nil
	case p.conflict:
		return why{"conflict", "rows of this problem have different labels"}, nil
	case !first:
		return why{"duplicate", "as " + e.placeOf(at)}, nil
	}
	return why{}, nil
}

func harms(name string) bool {
	for _, k := range kinds {
		if k.name == name {
			return k.harm
		}
	}
	return false
}

// String says what became of the rows.
func (f *Fixed) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d rows written", f.Out, f.Kept)
	for _, k := range kinds {
		if n := f.LeftOut[k.name]; n > 0 {
			fmt.Fprintf(&b, "; %d left out as %s", n, k.name)
		}
	}
	fmt.Fprintf(&b, "\n%s says which and why\n", f.LeftOutFile)
	return b.String()
}
