package grammar

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A value is JSON as it was written: members in order, numbers by their digits.
type value struct {
	kind kind
	text string   // of a string, a number or a word
	keys []string // of an object's members
	list []*value // members or elements

	id    int32 // in the order of the document
	up    *value
	key   string // where it is in up
	index map[string]*value
}

type kind byte

const (
	null kind = iota
	boolean
	number
	str
	array
	object
)

// parseJSON reads one value. It refuses members of one name, which readers take differently.
func parseJSON(src string) (*value, error) {
	if len(src) > maxSource {
		return nil, fmt.Errorf("it is %d bytes, want at most %d", len(src), maxSource)
	}
	p := &valueParser{dec: json.NewDecoder(strings.NewReader(src))}
	p.dec.UseNumber()
	v, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if _, err := p.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the JSON value")
	}
	return v, nil
}

type valueParser struct {
	dec    *json.Decoder
	lastID int32
}

func (p *valueParser) value(depth int) (*value, error) {
	if depth > maxNested {
		return nil, fmt.Errorf("it is nested more than %d deep", maxNested)
	}
	token, err := p.dec.Token()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	p.lastID++
	v := &value{id: p.lastID}
	switch t := token.(type) {
	case json.Delim:
		v.kind = map[json.Delim]kind{'[': array, '{': object}[t]
		return v, p.inside(v, depth)
	case json.Number:
		v.kind, v.text = number, string(t)
	case string:
		v.kind, v.text = str, t
	case bool:
		v.kind, v.text = boolean, strconv.FormatBool(t)
	default:
		v.kind, v.text = null, "null"
	}
	return v, nil
}

// inside reads members or elements up to the closing bracket.
func (p *valueParser) inside(v *value, depth int) error {
	v.index = map[string]*value{}
	for i := 0; p.dec.More(); i++ {
		key := strconv.Itoa(i)
		if v.kind == object {
			token, err := p.dec.Token()
			if err != nil {
				return fmt.Errorf("it is not JSON: %w", err)
			}
			key, _ = token.(string) // a decoder gives no other where a name stands
			v.keys = append(v.keys, key)
		}
		e, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		if v.index[key] != nil {
			return fmt.Errorf("%s has two members %q", v.path(), key)
		}
		e.up, e.key, v.index[key] = v, key, e
		v.list = append(v.list, e)
	}
	if _, err := p.dec.Token(); err != nil {
		return fmt.Errorf("it is not JSON: %w", err)
	}
	return nil
}

// path is the JSON pointer to v, cut when it is long.
func (v *value) path() string {
	var keys []string
	for ; v.up != nil; v = v.up {
		keys = append(keys, v.key)
	}
	var b strings.Builder
	b.WriteByte('#')
	for i := len(keys) - 1; i >= 0; i-- {
		if fmt.Fprintf(&b, "/%.40s", keys[i]); b.Len() > 200 {
			return b.String() + "..."
		}
	}
	return b.String()
}

// at follows a JSON pointer.
func (v *value) at(pointer string) *value {
	if pointer == "" {
		return v
	}
	for key := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		key = strings.NewReplacer("~1", "/", "~0", "~").Replace(key)
		if v = v.index[key]; v == nil {
			return nil
		}
	}
	return v
}

// compact is v without white space, spelled as the pieces of this package spell it.
func (v *value) compact() string {
	var b strings.Builder
	v.write(&b)
	return b.String()
}

func (v *value) write(b *strings.Builder) {
	switch v.kind {
	case str:
		b.WriteString(quote(v.text))
	case array, object:
		b.WriteByte("[{"[v.kind-array])
		for i, e := range v.list {
			if i > 0 {
				b.WriteByte(',')
			}
			if v.kind == object {
				b.WriteString(quote(v.keys[i]) + ":")
			}
			e.write(b)
		}
		b.WriteByte("]}"[v.kind-array])
	default:
		b.WriteString(v.text)
	}
}
