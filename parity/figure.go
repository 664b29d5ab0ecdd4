package parity

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// A Figure is a number that may be no number: JSON says "NaN", "+Inf" or "-Inf" then.
type Figure float64

// MarshalJSON writes the number, or its name in quotes.
func (f Figure) MarshalJSON() ([]byte, error) { return appendFigure(nil, float64(f), 64), nil }

// UnmarshalJSON reads what MarshalJSON wrote.
func (f *Figure) UnmarshalJSON(raw []byte) error {
	v, err := parseFigure(raw, 64)
	*f = Figure(v)
	return err
}

// Figures are float32 numbers of which some may be none. JSON has the shortest decimals that mean the same bits.
type Figures []float32

// MarshalJSON writes an array; nil is null.
func (f Figures) MarshalJSON() ([]byte, error) {
	if f == nil {
		return []byte("null"), nil
	}
	out := []byte{'['}
	for i, v := range f {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendFigure(out, float64(v), 32)
	}
	return append(out, ']'), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (f *Figures) UnmarshalJSON(raw []byte) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return err
	}
	*f = nil
	if parts != nil {
		*f = make(Figures, len(parts))
	}
	for i, p := range parts {
		v, err := parseFigure(p, 32)
		if err != nil {
			return fmt.Errorf("number %d: %w", i, err)
		}
		(*f)[i] = float32(v)
	}
	return nil
}

func appendFigure(dst []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(dst, `"+Inf"`...)
	case math.IsInf(v, -1):
		return append(dst, `"-Inf"`...)
	}
	return strconv.AppendFloat(dst, v, 'g', -1, bits)
}

// parseFigure reads a number, or one of the three names.
func parseFigure(raw []byte, bits int) (float64, error) {
	raw = bytes.TrimSpace(raw)
	switch string(raw) {
	case `"NaN"`:
		return math.NaN(), nil
	case `"+Inf"`:
		return math.Inf(1), nil
	case `"-Inf"`:
		return math.Inf(-1), nil
	}
	if len(raw) == 0 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return 0, fmt.Errorf(`%.40q, want a number, "NaN", "+Inf" or "-Inf"`, raw)
	}
	v, err := strconv.ParseFloat(string(raw), bits)
	if err != nil {
		return 0, fmt.Errorf("%.40q: %w", raw, err)
	}
	return v, nil
}
