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

	"furlong/chat"
	"furlong/data/rows"
	"furlong/reward"
	"furlong/tokenizer"
)

// A row is one row of a file, read.
type row struct {
	id, text, label string
	ownID           bool // the file gives the id
	tokens          []int32
	metadata        json.RawMessage
}

// malformed is the error of a row that is none at all. A few of them may be left out.
type malformed struct{ why string }

func (m malformed) Error() string { return m.why }

// A parser makes rows of JSON objects. It may be used from several goroutines.
type parser struct {
	Config
	tok     tokenizer.Tokenizer
	options chat.Options
}

func newParser(c Config, tok tokenizer.Tokenizer) (*parser, error) {
	if c.Template == nil {
		c.Template = chat.Plain{}
	}
	p := &parser{Config: c, tok: tok, options: c.Template.Defaults()}
	kwargs, err := c.kwargs()
	if err != nil {
		return nil, err
	}
	if err := p.options.Set(kwargs); err != nil {
		return nil, fmt.Errorf("--apply-chat-template-kwargs: %w", err)
	}
	return p, nil
}

// fields takes an object apart.
func fields(text []byte) (map[string]json.RawMessage, error) {
	var f map[string]json.RawMessage
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, malformed{err.Error()}
	}
	if f == nil {
		return nil, malformed{"line is null, want an object"}
	}
	if key, ok := rows.Twice(text); ok {
		return nil, fault{Keys, fmt.Errorf("key %q is there twice, want it once", key)}
	}
	return f, nil
}

// lookup returns the value of a key. One with dots that is no key itself goes into objects: reward_model.ground_truth.
func lookup(f map[string]json.RawMessage, key string) (json.RawMessage, bool) {
	if raw, ok := f[key]; ok {
		return raw, true
	}
	outer, rest, dotted := strings.Cut(key, ".")
	raw, ok := f[outer]
	if !dotted || !ok || raw[0] != '{' {
		return nil, false
	}
	var inner map[string]json.RawMessage
	if json.Unmarshal(raw, &inner) != nil {
		return nil, false
	}
	return lookup(inner, rest)
}

// parse reads a row. Without tokens it is not tokenised.
func (p *parser) parse(text []byte, tokens bool) (r row, err error) {
	f, err := fields(text)
	if err != nil {
		return row{}, err
	}
	if err = p.prompt(f, &r, tokens); err != nil {
		return row{}, of(Prompt, err)
	}
	if r.label, err = p.label(f); err != nil {
		return row{}, of(Label, err)
	}
	if r.metadata, err = p.metadata(f); err != nil {
		return row{}, of(Metadata, err)
	}
	r.metadata = withNumbers(r.metadata, r.label, f["nums"])
	if err = identify(f, &r); err != nil {
		return row{}, of(ID, err)
	}
	return r, nil
}

// prompt fills in the text that the tokenizer sees, and its tokens.
func (p *parser) prompt(f map[string]json.RawMessage, r *row, tokens bool) error {
	raw, ok := lookup(f, p.InputKey)
	if !ok {
		return fmt.Errorf("no key %q (--input-key), only %q", p.InputKey, someOf(slices.Sorted(maps.Keys(f))))
	}
	tools, err := p.tools(f)
	if err != nil {
		return err
	}
	if raw[0] == '[' {
		turns, err := messages(raw)
		if err != nil {
			return fmt.Errorf("%s: %w", p.InputKey, err)
		}
		return p.render(turns, tools, r, tokens)
	}
	text, err := str(raw)
	switch {
	case err != nil:
		return wrap(p.InputKey, err)
	case text == "":
		return fmt.Errorf("%s is empty, want a prompt", p.InputKey)
	case p.ApplyChatTemplate:
		return p.render([]chat.Message{{Role: "user", Content: text}}, tools, r, tokens)
	case len(tools) > 0:
		return fmt.Errorf("%s: tools are given for a prompt that is used as it is, want messages or --apply-chat-template", p.ToolKey)
	}
	r.text = text
	if tokens {
		r.tokens = p.tok.Encode(text)
	}
	return nil
}

// render lays out messages with the template.
func (p *parser) render(turns []chat.Message, tools []chat.Tool, r *row, tokens bool) error {
	out, err := p.Template.Render(&chat.Conversation{Messages: turns, Tools: tools, Options: p.options})
	if err != nil {
		return fmt.Errorf("%s: %w", p.InputKey, err)
	}
	r.text = out.Text()
	if tokens {
		if r.tokens, err = out.Encode(p.tok); err != nil {
			return fmt.Errorf("%s: %w", p.InputKey, err)
		}
	}
	return nil
}

// tools reads the functions that a prompt tells the model of, bare or as {"type": "function", "function": {...}}.
func (p *parser) tools(f map[string]json.RawMessage) ([]chat.Tool, error) {
	raw, ok := lookup(f, p.ToolKey)
	if p.ToolKey == "" || !ok || string(raw) == "null" {
		return nil, nil
	}
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("%s is %.40s, want a list of functions", p.ToolKey, raw)
	}
	tools := make([]chat.Tool, len(list))
	for i, t := range list {
		if inner, ok := t["function"]; ok {
			raw, t = inner, nil
			if err := json.Unmarshal(inner, &t); err != nil {
				return nil, fmt.Errorf("%s: tool %d: function is %.40s, want an object", p.ToolKey, i, inner)
			}
		} else if raw, _ = json.Marshal(t); t == nil {
			return nil, fmt.Errorf("%s: tool %d is null, want an object", p.ToolKey, i)
		}
		tools[i].Schema = bytes.Clone(raw)
		if json.Unmarshal(t["name"], &tools[i].Name) != nil || tools[i].Name == "" {
			return nil, fmt.Errorf("%s: tool %d has no name, want {name, description, parameters}", p.ToolKey, i)
		}
	}
	return tools, nil
}

// messages reads a conversation of plain text turns.
func messages(raw json.RawMessage) ([]chat.Message, error) {
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, errors.New("is a list of something else, want of messages {role, content}")
	}
	turns := make([]chat.Message, len(list))
	for i, m := range list {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			raw := m[key]
			var err error
			switch key {
			case "role":
				turns[i].Role, err = str(raw)
			case "content":
				turns[i].Content, err = str(raw)
			case "reasoning_content":
				turns[i].Reasoning, err = strOrNull(raw)
			case "tool_call_id":
				turns[i].CallID, err = strOrNull(raw)
			default:
				if string(raw) != "null" { // a column of Parquet has the key in every row
					err = errors.New("is not rendered, want only role, content, reasoning_content and tool_call_id")
				}
			}
			if err != nil {
				return nil, wrap(fmt.Sprintf("message %d: %s", i, key), err)
			}
		}
		if m["role"] == nil || m["content"] == nil {
			return nil, fmt.Errorf("message %d: keys are %q, want role and content", i, slices.Sorted(maps.Keys(m)))
		}
	}
	return turns, nil
}

// label returns the gold answer, "" for none: the key is missing, null or blank. A number is kept as it is written, a list
// of alternatives and an object as JSON.
func (p *parser) label(f map[string]json.RawMessage) (string, error) {
	raw, ok := lookup(f, p.LabelKey)
	if p.LabelKey == "" || !ok || string(raw) == "null" {
		return "", nil
	}
	switch b := raw[0]; {
	case b == '-' || b >= '0' && b <= '9':
		return string(raw), nil
	case b == '[', b == '{':
		label, err := compound(raw)
		return label, about(p.LabelKey, err)
	case b != '"':
		return "", fmt.Errorf("%s is %.40s, want %s", p.LabelKey, raw, labelForms)
	}
	text, err := str(raw)
	if err != nil {
		return "", wrap(p.LabelKey, err)
	}
	return strings.TrimSpace(text), nil
}

// labelForms are what a label may be.
const labelForms = "a text, a number, a list of these, or an object with nums and target"

// compound returns a label of several parts in the form that graders read.
func compound(raw json.RawMessage) (string, error) {
	gold, err := reward.ReadGold(raw)
	if err != nil {
		return "", fmt.Errorf("is %.40s, want %s: %w", raw, labelForms, err)
	}
	if gold.Alternatives != nil {
		out, err := json.Marshal(gold.Alternatives)
		return string(out), err
	}
	var out bytes.Buffer
	err = json.Compact(&out, raw)
	return out.String(), err
}

// metadata returns the row's object of further facts.
func (p *parser) metadata(f map[string]json.RawMessage) (json.RawMessage, error) {
	raw, ok := lookup(f, p.MetadataKey)
	if p.MetadataKey == "" || !ok || string(raw) == "null" {
		return nil, nil
	}
	if raw[0] != '{' {
		return nil, fmt.Errorf("%s is %.40s, want an object", p.MetadataKey, raw)
	}
	return bytes.Clone(raw), nil
}

// identify fills in the row's id: its key id, or where it has none a hash of what it says.
func identify(f map[string]json.RawMessage, r *row) error {
	raw, ok := f["id"]
	if !ok || string(raw) == "null" || string(raw) == `""` {
		r.id = "sha256-" + hex.EncodeToString(r.content())[:16]
		return nil
	}
	r.ownID = true
	if strings.IndexByte("{[tf", raw[0]) >= 0 {
		return fmt.Errorf("id is %.40s, want a text or a number", raw)
	}
	if raw[0] != '"' {
		r.id = string(raw)
		return nil
	}
	id, err := str(raw)
	r.id = id
	return wrap("id", err)
}

// content returns a hash of text and label, by which duplicates are known.
func (r *row) content() []byte {
	h := sha256.New()
	fmt.Fprintf(h, "%d %s%s", len(r.text), r.text, r.label)
	return h.Sum(nil)
}

// withNumbers puts the numbers of a countdown that stand beside its target, which is the label, where graders look for them.
func withNumbers(metadata json.RawMessage, label string, nums json.RawMessage) json.RawMessage {
	if len(nums) == 0 || label == "" || !json.Valid([]byte(label)) || reward.NumbersOf(metadata) != nil {
		return metadata
	}
	if both := reward.WithNumbers(json.RawMessage(label), nums); both[0] != '{' || label[0] == '{' {
		return metadata
	}
	rest := bytes.TrimSpace(bytes.TrimPrefix(metadata, []byte("{")))
	if len(rest) > 1 { // more than the closing brace
		return fmt.Appendf(nil, `{"nums":%s,%s`, nums, rest)
	}
	return fmt.Appendf(nil, `{"nums":%s}`, nums)
}

// about says which key an error is about, where the error goes on with a verb.
func about(key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %w", key, err)
}

// wrap says what an error is about; a malformed row stays one.
func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// someOf returns the first of many keys.
func someOf(keys []string) []string {
	const most = 20
	if len(keys) > most {
		keys = append(keys[:most:most], "...")
	}
	for i, k := range keys {
		keys[i] = fmt.Sprintf("%.60s", k)
	}
	return keys
}

func strOrNull(raw json.RawMessage) (string, error) {
	if string(raw) == "null" {
		return "", nil
	}
	return str(raw)
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
