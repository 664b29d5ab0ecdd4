package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// A Report is a file of results: that of one set stands in it as it is, those of several in a list.
type Report struct {
	*Result
	Sets []*Result `json:"sets,omitempty"`
}

// NewReport returns a report of at least one result.
func NewReport(results []*Result) Report {
	if len(results) == 1 {
		return Report{Result: results[0]}
	}
	return Report{Sets: results}
}

// Results returns what is in the report.
func (r Report) Results() []*Result {
	if r.Result != nil {
		return []*Result{r.Result}
	}
	return r.Sets
}

// ErrNoReport says that a file is no report; it may be one of rows.
var ErrNoReport = errors.New("is no report of an evaluation")

// ReadReport reads a file that was written with --output. An error wraps ErrNoReport where the file is something else.
func ReadReport(path string) (*Report, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var r Report
	d := json.NewDecoder(bytes.NewReader(b))
	if err := d.Decode(&r); err != nil || len(r.Results()) == 0 || d.More() {
		return nil, fmt.Errorf("%s: %w", path, ErrNoReport)
	}
	seen := map[string]bool{}
	for _, s := range r.Results() {
		if s == nil || s.Set == "" || seen[s.Set] {
			return nil, fmt.Errorf("%s: %w: a set without a name of its own", path, ErrNoReport)
		}
		seen[s.Set] = true
		if err := s.sound(); err != nil {
			return nil, fmt.Errorf("%s: set %s: %w", path, s.Set, err)
		}
	}
	return &r, nil
}

// sound reports counts that no evaluation gives.
func (r *Result) sound() error {
	if _, err := checked(r.Problems); err != nil {
		return err
	}
	for _, p := range r.Problems {
		if p.C < 0 || p.C > p.N || p.Invalid < 0 || p.N+p.Invalid != r.Samples {
			return fmt.Errorf("problem %s: %d of %d samples are right and %d invalid, want %d in all", p.ID, p.C, p.N, p.Invalid, r.Samples)
		}
	}
	return nil
}
