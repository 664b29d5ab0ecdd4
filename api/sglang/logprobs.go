package sglang

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// A Triple is a token with its logprob. NaN stands for a logprob that there is none of.
type Triple struct {
	LogProb float32
	Token   int32
	Text    *string // nil unless asked for
}

// Triples is written as a list of [logprob, token, text]. nil among other lists is null.
type Triples []Triple

// MarshalJSON writes the list.
func (ts Triples) MarshalJSON() ([]byte, error) {
	if ts == nil {
		return []byte("null"), nil
	}
	return ts.append(make([]byte, 0, 2+32*len(ts))), nil
}

func (ts Triples) append(dst []byte) []byte {
	dst = append(dst, '[')
	for i, t := range ts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = t.append(dst)
	}
	return append(dst, ']')
}

func (t Triple) append(dst []byte) []byte {
	dst = AppendFloat(append(dst, '['), float64(t.LogProb))
	dst = strconv.AppendInt(append(dst, ','), int64(t.Token), 10)
	if t.Text == nil {
		return append(dst, ",null]"...)
	}
	text, _ := json.Marshal(*t.Text) // a string always can be
	return append(append(append(dst, ','), text...), ']')
}

// AppendFloat writes v in its shortest form, and null when it is not finite.
func AppendFloat(dst []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(dst, "null"...)
	}
	if v == 0 {
		v = 0 // not -0
	}
	return strconv.AppendFloat(dst, v, 'g', -1, 64)
}

// UnmarshalJSON reads [logprob, token, text] or [logprob, token].
func (t *Triple) UnmarshalJSON(raw []byte) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return err
	}
	if len(parts) < 2 {
		return fmt.Errorf("logprob has %d members, want 2 or 3", len(parts))
	}
	*t = Triple{LogProb: float32(math.NaN())}
	if !bytes.Equal(parts[0], []byte("null")) {
		var v float64
		if err := json.Unmarshal(parts[0], &v); err != nil {
			return err
		}
		t.LogProb = float32(v)
	}
	if len(parts) > 2 {
		if err := json.Unmarshal(parts[2], &t.Text); err != nil {
			return err
		}
	}
	return json.Unmarshal(parts[1], &t.Token)
}

// Seconds is a time; what is not finite is written as null.
type Seconds float64

// MarshalJSON writes the number.
func (s Seconds) MarshalJSON() ([]byte, error) { return AppendFloat(nil, float64(s)), nil }

// What ends a response on the wire. There are no others.
const (
	FinishStop   = "stop"
	FinishLength = "length"
	FinishAbort  = "abort"
)

// A Finish is finish_reason.
type Finish struct {
	Type    string
	Token   *int32  // stop: the id that was hit
	Matched *string // stop: or the text that was
	Length  int     // length: the budget
	Message string  // abort
	Status  int     // abort: the HTTP status that goes with it, 0 for none
	Kind    string  // abort: the kind of error, "" for none
}

// MarshalJSON writes the keys that belong to the type.
func (f Finish) MarshalJSON() ([]byte, error) {
	w := map[string]any{"type": f.Type}
	switch f.Type {
	case FinishStop:
		w["matched"] = nil
		if f.Token != nil {
			w["matched"] = *f.Token
		} else if f.Matched != nil {
			w["matched"] = *f.Matched
		}
	case FinishLength:
		w["length"] = f.Length
	case FinishAbort:
		w["message"], w["status_code"], w["err_type"] = f.Message, orNull(f.Status), orNull(f.Kind)
	}
	return json.Marshal(w)
}

// orNull returns nil for a zero value.
func orNull[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}

// UnmarshalJSON reads a reason of any type.
func (f *Finish) UnmarshalJSON(raw []byte) error {
	var w struct {
		Type    string          `json:"type"`
		Matched json.RawMessage `json:"matched"`
		Length  int             `json:"length"`
		Message string          `json:"message"`
		Status  json.Number     `json:"status_code"`
		Kind    string          `json:"err_type"`
	}
	if err := Decode(raw, &w); err != nil {
		return fmt.Errorf("finish_reason: %w", err)
	}
	*f = Finish{Type: w.Type, Length: w.Length, Message: w.Message, Kind: w.Kind}
	f.Status, _ = strconv.Atoi(w.Status.String()) // no number is no status
	if w.Matched == nil {
		return nil
	}
	if err := json.Unmarshal(w.Matched, &f.Token); err == nil {
		return nil
	}
	f.Token = nil
	if err := json.Unmarshal(w.Matched, &f.Matched); err != nil {
		return errors.New("finish_reason: matched is neither a token nor text")
	}
	return nil
}
