package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"furlong/checkpoint"
)

// place lays tensors end to end, those with the largest elements first so that each is aligned; equals keep
// their order.
func place(entries []checkpoint.Entry) (*header, error) {
	h := &header{index: map[string]int{}}
	at := 0
	for _, e := range aligned(entries) {
		n, err := sizeBytes(e.Info)
		if err == nil {
			err = checkName(e.Name, h.index)
		}
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", e.Name, err)
		}
		h.index[e.Name] = len(h.names)
		h.names = append(h.names, e.Name)
		h.spans = append(h.spans, span{e.Info, at, at + n})
		at += n
	}
	return h, nil
}

func aligned(entries []checkpoint.Entry) []checkpoint.Entry {
	entries = slices.Clone(entries)
	slices.SortStableFunc(entries, func(a, b checkpoint.Entry) int { return b.Type.Bits() - a.Type.Bits() })
	return entries
}

func checkName(name string, taken map[string]int) error {
	_, twice := taken[name]
	switch {
	case twice:
		return fmt.Errorf("comes twice")
	case name == metadataKey:
		return fmt.Errorf("is a name that the format keeps for itself")
	case strings.ContainsRune(name, utf8.RuneError):
		return fmt.Errorf("is not UTF-8")
	}
	return nil
}

// encode returns the start of a file: the header's length and the header, padded with spaces so that the
// tensors begin at a multiple of eight.
func (h *header) encode() ([]byte, error) {
	var b bytes.Buffer
	b.Write(make([]byte, lengthBytes))
	b.WriteByte('{')
	if len(h.metadata) > 0 {
		writeJSON(&b, metadataKey)
		b.WriteByte(':')
		writeJSON(&b, h.metadata)
	}
	for i, name := range h.names {
		if b.Len() > lengthBytes+1 {
			b.WriteByte(',')
		}
		h.spans[i].encode(&b, name)
	}
	b.WriteByte('}')
	for b.Len()%8 != 0 {
		b.WriteByte(' ')
	}
	n := b.Len() - lengthBytes
	if n > maxHeaderBytes {
		return nil, fmt.Errorf("header is %d bytes, want at most %d", n, maxHeaderBytes)
	}
	binary.LittleEndian.PutUint64(b.Bytes(), uint64(n))
	return b.Bytes(), nil
}

func (s span) encode(b *bytes.Buffer, name string) {
	writeJSON(b, name)
	fmt.Fprintf(b, `:{"dtype":%q,"shape":[`, s.Type.String())
	for i, n := range s.Shape {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(b, n)
	}
	fmt.Fprintf(b, `],"data_offsets":[%d,%d]}`, s.lo, s.hi)
}

// writeJSON appends a string, or a map of strings by key, without escaping what only HTML minds.
func writeJSON(b *bytes.Buffer, v any) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // strings always encode
	}
	b.Truncate(b.Len() - 1) // the encoder's newline
}
