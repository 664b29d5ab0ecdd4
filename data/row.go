package data

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"furlong/chat"
)

// A row is one line, read.
type row struct {
	id, text, label string
	metadata        json.RawMessage
}

// malformed is the error of a line that is no row at all. A few of them may be left out.
type malformed struct{ why string }

func (m malformed) Error() string { return m.why }

// fields takes a line apart.
func fields(line []byte) (map[string]json.RawMessage, error) {
	if !utf8.Valid(line) {
		return nil, malformed{"line is not UTF-8"}
	}
	var f map[string]json.RawMessage
	if err := json.Unmarshal(line, &f); err != nil {
		return nil, malformed{err.Error()}
	}
	if f == nil {
		return nil, malformed{"line is null, want an object"}
	}
	return f, nil
}

// parse reads a row from a line.
func (c Config) parse(line []byte) (row, error) {
	f, err := fields(line)
	if err != nil {
		return row{}, err
	}
	var r row
	if r.text, err = c.prompt(f); err != nil {
		return row{}, err
	}
	if r.label, err = c.label(f); err != nil {
		return row{}, err
	}
	if r.metadata, err = c.metadata(f); err != nil {
		return row{}, err
	}
	if r.id, err = identify(f, r); err != nil {
		return row{}, err
	}
	return r, nil
}

// prompt returns the text that the tokenizer sees.
func (c Config) prompt(f map[string]json.RawMessage) (string, error) {
	raw, ok := f[c.InputKey]
	if !ok {
		return "", fmt.Errorf("no key %q (--input-key), only %q", c.InputKey, slices.Sorted(maps.Keys(f)))
	}
	if raw[0] == '[' {
		turns, err := messages(raw)
		if err != nil {
			return "", fmt.Errorf("%s: %w", c.InputKey, err)
		}
		return c.render(turns)
	}
	text, err := str(raw)
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w", c.InputKey, err)
	case text == "":
		return "", fmt.Errorf("%s is empty, want a prompt", c.InputKey)
	case c.ApplyChatTemplate:
		return c.render([]chat.Message{{Role: "user", Content: text}})
	}
	return text, nil
}

// render calls Render and says which key it was about.
func (c Config) render(turns []chat.Message) (string, error) {
	text, err := c.Render(turns)
	if err != nil {
		return "", fmt.Errorf("%s: %w", c.InputKey, err)
	}
	return text, nil
}

// messages reads a conversation of plain text turns.
func messages(raw json.RawMessage) ([]chat.Message, error) {
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, errors.New("is a list of something else, want of messages {role, content}")
	}
	turns := make([]chat.Message, len(list))
	for i, m := range list {
		for key, raw := range m {
			var err error
			switch key {
			case "role":
				turns[i].Role, err = str(raw)
			case "content":
				turns[i].Content, err = str(raw)
			default:
				err = errors.New("is not rendered, want only role and content")
			}
			if err != nil {
				return nil, fmt.Errorf("message %d: %s: %w", i, key, err)
			}
		}
		if m["role"] == nil || m["content"] == nil {
			return nil, fmt.Errorf("message %d: keys are %q, want role and content", i, slices.Sorted(maps.Keys(m)))
		}
	}
	return turns, nil
}

// label returns the gold answer, "" for none: the key is missing, null or blank. A number is kept as it is written.
func (c Config) label(f map[string]json.RawMessage) (string, error) {
	raw, ok := f[c.LabelKey]
	if c.LabelKey == "" || !ok || string(raw) == "null" {
		return "", nil
	}
	if b := raw[0]; b == '-' || b >= '0' && b <= '9' {
		return string(raw), nil
	}
	text, err := str(raw)
	if err != nil {
		return "", fmt.Errorf("%s: %w", c.LabelKey, err)
	}
	return strings.TrimSpace(text), nil
}

// metadata returns the row's object of further facts.
func (c Config) metadata(f map[string]json.RawMessage) (json.RawMessage, error) {
	raw, ok := f[c.MetadataKey]
	if c.MetadataKey == "" || !ok || string(raw) == "null" {
		return nil, nil
	}
	if raw[0] != '{' {
		return nil, fmt.Errorf("%s is %.40s, want an object", c.MetadataKey, raw)
	}
	return bytes.Clone(raw), nil
}

// identify returns the row's id: its key id, or where it has none a hash of what it says.
func identify(f map[string]json.RawMessage, r row) (string, error) {
	raw, ok := f["id"]
	if !ok || string(raw) == "null" || string(raw) == `""` {
		return "sha256-" + r.content()[:16], nil
	}
	if raw[0] != '"' {
		return string(raw), nil
	}
	id, err := str(raw)
	if err != nil {
		return "", fmt.Errorf("id: %w", err)
	}
	return id, nil
}

// content returns a hash of text and label, by which duplicates are known.
func (r row) content() string {
	h := sha256.New()
	fmt.Fprintf(h, "%d %s%s", len(r.text), r.text, r.label)
	return hex.EncodeToString(h.Sum(nil))
}

// str reads a JSON string. An escape for half a character is malformed; the library alone would put U+FFFD in its place.
func str(raw json.RawMessage) (string, error) {
	if raw[0] != '"' {
		return "", fmt.Errorf("is %.40s, want a string", raw)
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return "", malformed{err.Error()}
	}
	if meant := bytes.Count(raw, []byte("\uFFFD")) + bytes.Count(bytes.ToLower(raw), []byte(`\ufffd`)); strings.Count(text, "\uFFFD") > meant {
		return "", malformed{"an escape in a string is half a character"}
	}
	return text, nil
}
