package metrics

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"furlong/rl"
)

// A Kind says what a row is about.
type Kind string

// The kinds of rows. Cycles count from 1; an evaluation before the first cycle has cycle 0.
const (
	Cycle Kind = "cycle" // one cycle of the loop
	Eval  Kind = "eval"  // the evaluations after a cycle
)

// A Row is one line of metrics.jsonl. Kind, Cycle and Attempt name it.
type Row struct {
	Kind    Kind
	Cycle   int
	Step    int        // optimizer steps taken
	Version rl.Version // served when the row was written
	Attempt int        // number of the start of the run, from 1
	Time    float64    // seconds since 1970
	Values  map[string]float64
	Other   []string // names whose value is no number; only readers fill it
}

// Unix returns t as rows and the other files hold it: seconds since 1970, to the microsecond.
func Unix(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

// Append appends r to b as one line of JSON, line feed included. Numbers that are not finite, which JSON does not have, become the strings
// "NaN", "Infinity" and "-Infinity". A series that is not in the table is an error, and so is a row without a name.
func (r Row) Append(b []byte) ([]byte, error) {
	if err := r.check(); err != nil {
		return b, err
	}
	b = fmt.Appendf(b, `{"kind":%q,"cycle":%d,"step":%d,"version":%d,"attempt":%d,"time":`, string(r.Kind), r.Cycle, r.Step, r.Version, r.Attempt)
	b = appendNumber(b, r.Time)
	for _, name := range slices.Sorted(maps.Keys(r.Values)) {
		b = append(b, `,"`...)
		b = append(b, name...)
		b = append(b, `":`...)
		b = appendNumber(b, r.Values[name])
	}
	return append(b, "}\n"...), nil
}

func (r Row) check() error {
	var errs []error
	if r.Kind != Cycle && r.Kind != Eval {
		errs = append(errs, fmt.Errorf("row: kind is %q, want %q or %q", r.Kind, Cycle, Eval))
	}
	if r.Cycle < 0 || r.Step < 0 || r.Attempt < 1 {
		errs = append(errs, fmt.Errorf("row: cycle %d, step %d, attempt %d, want at least 0, 0, 1", r.Cycle, r.Step, r.Attempt))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Values)) {
		if _, ok := Lookup(name); !ok {
			errs = append(errs, fmt.Errorf("series %q is not in the table of metrics", name))
		}
	}
	return errors.Join(errs...)
}

// appendNumber writes the shortest decimal that reads back as v.
func appendNumber(b []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(b, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(b, `"-Infinity"`...)
	}
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		return strconv.AppendFloat(b, v, 'e', -1, 64)
	}
	return strconv.AppendFloat(b, v, 'f', -1, 64)
}

// ParseNumber returns the number that a value of a row stands for. It reports false for anything but a number or one of the three strings.
func ParseNumber(raw []byte) (float64, bool) {
	switch string(raw) {
	case `"NaN"`:
		return math.NaN(), true
	case `"Infinity"`:
		return math.Inf(1), true
	case `"-Infinity"`:
		return math.Inf(-1), true
	}
	if len(raw) == 0 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return 0, false
	}
	v, err := strconv.ParseFloat(string(raw), 64)
	if errors.Is(err, strconv.ErrRange) {
		err = nil // 1e999 is Infinity
	}
	return v, err == nil
}

// ParseRow reads a line of metrics.jsonl. Series that the table does not know are kept; null is not measured; a row without a name is an error.
func ParseRow(line []byte) (Row, error) {
	r := Row{Cycle: -1, Values: map[string]float64{}}
	err := Fields(line, r.set)
	switch {
	case err != nil:
		return Row{}, err
	case r.Kind == "":
		return Row{}, errors.New("row has no kind")
	case r.Cycle < 0:
		return Row{}, errors.New("row has no cycle")
	case r.Attempt < 1:
		return Row{}, errors.New("row has no attempt")
	}
	return r, nil
}

func (r *Row) set(key, raw []byte) error {
	var to any
	switch string(key) {
	case "kind":
		to = &r.Kind
	case "cycle":
		to = &r.Cycle
	case "step":
		to = &r.Step
	case "version":
		to = &r.Version
	case "attempt":
		to = &r.Attempt
	case "time":
		to = &r.Time
	default:
		r.value(string(key), raw)
		return nil
	}
	if err := json.Unmarshal(raw, to); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

func (r *Row) value(key string, raw []byte) {
	if v, ok := ParseNumber(raw); ok {
		r.Values[key] = v
	} else if string(raw) != "null" {
		r.Other = append(r.Other, key)
	}
}
