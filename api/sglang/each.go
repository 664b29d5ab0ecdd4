package sglang

import (
	"bytes"
	"encoding/json"
)

// An Each is a value for a whole batch, or a list with one for each of its prompts. The zero Each is absent.
type Each[T any] struct {
	Values []T  // one when not Many
	Many   bool // it came as a list
}

// One returns an Each of a single value for all.
func One[T any](v T) Each[T] { return Each[T]{Values: []T{v}} }

// Many returns an Each with a value for each prompt.
func Many[T any](vs ...T) Each[T] { return Each[T]{Values: vs, Many: true} }

// IsZero reports whether the field was absent.
func (e Each[T]) IsZero() bool { return e.Values == nil && !e.Many }

// At returns the value for prompt i: the single one, the i-th, or the zero value where there is none.
func (e Each[T]) At(i int) (v T) {
	switch {
	case !e.Many && len(e.Values) == 1:
		return e.Values[0]
	case i < len(e.Values):
		return e.Values[i]
	}
	return v
}

// MarshalJSON writes the value, or the list.
func (e Each[T]) MarshalJSON() ([]byte, error) {
	if !e.Many && len(e.Values) == 1 {
		return json.Marshal(e.Values[0])
	}
	if e.Values == nil {
		return []byte("[]"), nil
	}
	return json.Marshal(e.Values)
}

// UnmarshalJSON reads a value or a list of them; null members are zero values.
func (e *Each[T]) UnmarshalJSON(raw []byte) error {
	*e = Each[T]{Many: raw[0] == '['}
	if e.Many {
		e.Values = []T{}
		return json.Unmarshal(raw, &e.Values)
	}
	e.Values = make([]T, 1)
	return json.Unmarshal(raw, &e.Values[0])
}

// An IDs is a list of token ids for a whole batch, or a list of such lists. The zero IDs is absent. A null list is nil.
type IDs struct {
	Lists [][]int32 // one when not Many
	Many  bool      // it came as a list of lists
}

// OneIDs returns an IDs of a single list.
func OneIDs(ids []int32) IDs { return IDs{Lists: [][]int32{ids}} }

// ManyIDs returns an IDs of a list for each prompt.
func ManyIDs(lists ...[]int32) IDs { return IDs{Lists: lists, Many: true} }

// IsZero reports whether the field was absent.
func (s IDs) IsZero() bool { return s.Lists == nil && !s.Many }

// At returns the list for prompt i.
func (s IDs) At(i int) []int32 { return Each[[]int32]{s.Lists, s.Many}.At(i) }

// MarshalJSON writes the list, or the list of lists.
func (s IDs) MarshalJSON() ([]byte, error) { return Each[[]int32]{s.Lists, s.Many}.MarshalJSON() }

// UnmarshalJSON reads a list of ids or a list of lists. An empty list is a list of no ids.
func (s *IDs) UnmarshalJSON(raw []byte) error {
	inner := bytes.TrimLeft(bytes.TrimPrefix(raw, []byte("[")), " \t\r\n")
	*s = IDs{Many: raw[0] == '[' && len(inner) > 0 && (inner[0] == '[' || inner[0] == 'n')}
	if s.Many {
		return json.Unmarshal(raw, &s.Lists)
	}
	s.Lists = [][]int32{{}}
	if ids, ok := plainIDs(raw); ok {
		s.Lists[0] = ids
		return nil
	}
	return json.Unmarshal(raw, &s.Lists[0])
}

// plainIDs reads a list of decimal digits and commas, as all long ones are: a hundred times as fast as reading JSON in general. It reports false for all else.
func plainIDs(raw []byte) ([]int32, bool) {
	if len(raw) < 3 || raw[0] != '[' || raw[len(raw)-1] != ']' {
		return nil, false
	}
	raw = raw[1 : len(raw)-1]
	out := make([]int32, 0, bytes.Count(raw, []byte(","))+1)
	v, digits := int64(0), 0
	for _, c := range raw {
		switch {
		case c >= '0' && c <= '9' && digits < 9 && (v > 0 || digits == 0): // no leading zeros, no overflow
			v, digits = 10*v+int64(c-'0'), digits+1
		case c == ',' && digits > 0:
			out = append(out, int32(v))
			v, digits = 0, 0
		case c != ' ' || digits > 0:
			return nil, false
		}
	}
	return append(out, int32(v)), digits > 0
}

// Strings is a string or a list of strings; null members are dropped.
type Strings []string

// UnmarshalJSON reads either.
func (s *Strings) UnmarshalJSON(raw []byte) error {
	var e Each[*string]
	if err := e.UnmarshalJSON(raw); err != nil {
		return err
	}
	*s = nil
	for _, v := range e.Values {
		if v != nil {
			*s = append(*s, *v)
		}
	}
	return nil
}

// Tokens is a list of token ids; null members are dropped.
type Tokens []int32

// UnmarshalJSON reads the list.
func (s *Tokens) UnmarshalJSON(raw []byte) error {
	var vs []*int32
	if err := json.Unmarshal(raw, &vs); err != nil {
		return err
	}
	*s = nil
	for _, v := range vs {
		if v != nil {
			*s = append(*s, *v)
		}
	}
	return nil
}

// A Limit is a number of tokens, or none. The zero Limit is absent.
type Limit struct {
	N     int
	Given bool // a number
	None  bool // null: as much as there is room for
}

// AtMost returns the Limit of n tokens.
func AtMost(n int) Limit { return Limit{N: n, Given: true} }

// MarshalJSON writes the number, or null.
func (l Limit) MarshalJSON() ([]byte, error) {
	if !l.Given {
		return []byte("null"), nil
	}
	return json.Marshal(l.N)
}

// UnmarshalJSON reads a number.
func (l *Limit) UnmarshalJSON(raw []byte) error {
	*l = Limit{Given: true}
	return json.Unmarshal(raw, &l.N)
}

func (l *Limit) setNull() { *l = Limit{None: true} }
