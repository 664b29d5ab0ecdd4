package metrics

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Fields calls each for every member of the JSON object in line, in order: the name without its quotes and the value's own bytes, both valid until
// each returns. It accepts what encoding/json accepts. Rows are flat and long, and this is several times as fast as a parser that builds values.
func Fields(line []byte, each func(key, raw []byte) error) error {
	s := scanner{line: line}
	if !s.take('{') {
		return errors.New("row is not a JSON object")
	}
	if s.take('}') {
		return s.end()
	}
	for {
		key, err := s.key()
		if err != nil {
			return err
		}
		raw, err := s.value()
		if err != nil {
			return err
		}
		if err := each(key, raw); err != nil {
			return err
		}
		if s.take(',') {
			continue
		}
		if s.take('}') {
			return s.end()
		}
		return s.bad("want , or }")
	}
}

// A scanner is a place in a line.
type scanner struct {
	line []byte
	at   int
}

func (s *scanner) bad(want string) error { return fmt.Errorf("byte %d: %s", s.at, want) }

func (s *scanner) blanks() {
	for s.at < len(s.line) && blank(s.line[s.at]) {
		s.at++
	}
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// take skips blanks and then c, if it is there.
func (s *scanner) take(c byte) bool {
	s.blanks()
	if s.at < len(s.line) && s.line[s.at] == c {
		s.at++
		return true
	}
	return false
}

func (s *scanner) end() error {
	if s.blanks(); s.at < len(s.line) {
		return s.bad("want the end of the line")
	}
	return nil
}

func (s *scanner) key() ([]byte, error) {
	s.blanks()
	raw, err := s.str()
	if err != nil {
		return nil, err
	}
	if !s.take(':') {
		return nil, s.bad("want :")
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1], nil
	}
	var key string
	err = json.Unmarshal(raw, &key)
	return []byte(key), err
}

// str returns the string at s, quotes included.
func (s *scanner) str() ([]byte, error) {
	from := s.at
	if s.at == len(s.line) || s.line[s.at] != '"' {
		return nil, s.bad("want a string")
	}
	plain := true
	for s.at++; s.at < len(s.line); s.at++ {
		switch c := s.line[s.at]; {
		case c == '"':
			s.at++
			if raw := s.line[from:s.at]; plain || json.Valid(raw) {
				return raw, nil
			}
			return nil, s.bad("string has a bad escape")
		case c == '\\':
			plain = false
			s.at++
		case c < ' ':
			return nil, s.bad("string has a control character")
		}
	}
	return nil, s.bad("string has no end")
}

// value returns the value at s without the blanks around it.
func (s *scanner) value() ([]byte, error) {
	s.blanks()
	from := s.at
	if s.at < len(s.line) && s.line[s.at] == '"' {
		return s.str()
	}
	if s.at < len(s.line) && (s.line[s.at] == '{' || s.line[s.at] == '[') {
		return s.nested()
	}
	for s.at < len(s.line) && !ends(s.line[s.at]) {
		s.at++
	}
	if raw := s.line[from:s.at]; number(raw) || json.Valid(raw) {
		return raw, nil
	}
	return nil, s.bad("want a value")
}

// ends reports whether c cannot stand in a number or a name.
func ends(c byte) bool { return c == ',' || c == '}' || c == ']' || blank(c) }

// nested returns the object or array at s.
func (s *scanner) nested() ([]byte, error) {
	var raw json.RawMessage
	d := json.NewDecoder(bytes.NewReader(s.line[s.at:]))
	if err := d.Decode(&raw); err != nil {
		return nil, fmt.Errorf("byte %d: %w", s.at, err)
	}
	from := s.at
	s.at += int(d.InputOffset())
	return s.line[from:s.at], nil
}

// number reports whether raw is a JSON number without an exponent, the usual case.
func number(raw []byte) bool {
	raw = bytes.TrimPrefix(raw, []byte("-"))
	whole, frac, point := bytes.Cut(raw, []byte("."))
	return digits(whole) && (len(whole) == 1 || whole[0] != '0') && (!point || digits(frac))
}

func digits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(b) > 0
}
