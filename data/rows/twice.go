package rows

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Twice returns the first key that stands twice in one object of text, which is a JSON value: readers of JSON take the one or the
// other without a word. A key of an inner object has the keys around it before it, with dots: label.target. Where there is none,
// ok is false.
func Twice(text []byte) (key string, ok bool) {
	w := walker{text: text}
	w.value()
	return strings.Join(w.path, "."), w.twice
}

// A walker goes through a JSON value.
type walker struct {
	text  []byte
	at    int
	path  []string
	twice bool // the last of path is there twice
}

// skip passes over blanks, commas and colons: the text is known to be JSON.
func (w *walker) skip() {
	for w.at < len(w.text) && strings.IndexByte(" \t\r\n,:", w.text[w.at]) >= 0 {
		w.at++
	}
}

// value passes over a value and looks at the objects in it.
func (w *walker) value() {
	w.skip()
	if w.at >= len(w.text) {
		return
	}
	switch w.text[w.at] {
	case '{':
		w.object()
	case '[':
		w.at++
		for w.skip(); w.at < len(w.text) && w.text[w.at] != ']' && !w.twice; w.skip() {
			w.value()
		}
		w.at++
	case '"':
		w.text1()
	default:
		for w.at++; w.at < len(w.text) && strings.IndexByte(" \t\r\n,]}", w.text[w.at]) < 0; {
			w.at++
		}
	}
}

// text1 passes over a string and returns it as it is written, quotes and all.
func (w *walker) text1() []byte {
	from := w.at
	for w.at++; w.at < len(w.text) && w.text[w.at] != '"'; w.at++ {
		if w.text[w.at] == '\\' {
			w.at++
		}
	}
	w.at = min(w.at+1, len(w.text))
	return w.text[from:w.at]
}

// object passes over an object and remembers its keys.
func (w *walker) object() {
	var few [16]string
	seen, many := few[:0], map[string]bool(nil)
	w.at++
	for w.skip(); w.at < len(w.text) && w.text[w.at] != '}' && !w.twice; w.skip() {
		key := w.key()
		if w.path = append(w.path, key); has(seen, many, key) {
			w.twice = true
			return
		}
		seen, many = add(seen, many, key)
		if w.value(); !w.twice {
			w.path = w.path[:len(w.path)-1]
		}
	}
	w.at++
}

// key reads a key.
func (w *walker) key() string {
	raw := w.text1()
	if len(raw) >= 2 && bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var key string
	_ = json.Unmarshal(raw, &key) // the text is known to be JSON
	return key
}

// has and add keep keys: a few in a list, many in a map as well.
func has(seen []string, many map[string]bool, key string) bool {
	if many != nil {
		return many[key]
	}
	return slices.Contains(seen, key)
}

func add(seen []string, many map[string]bool, key string) ([]string, map[string]bool) {
	if many == nil && len(seen) < cap(seen) {
		return append(seen, key), nil
	}
	if many == nil {
		many = map[string]bool{}
		for _, k := range seen {
			many[k] = true
		}
	}
	many[key] = true
	return seen, many
}
