package reward

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
)

// A Gold is a gold answer as a data set has it.
type Gold struct {
	Text         string
	Alternatives []string // any of them is right; nil where there is one answer
	Falsy        bool     // written as the number 0, which the published grader math takes for no answer

	Numbers []*big.Rat // of a countdown: what may be used
	Target  *big.Rat   // of a countdown: what must come out
	Letters string     // of a choice: those that may be chosen; "" for the usual ones
}

// GoldOf returns the gold answer that a label is. A list of texts as JSON holds alternatives, an object with nums and
// target is a countdown; any other label is the answer itself.
func GoldOf(label string) Gold {
	text := strings.TrimSpace(label)
	if strings.HasPrefix(text, `["`) || strings.HasPrefix(text, "{") && strings.Contains(text, `"target"`) {
		if g, err := ReadGold(json.RawMessage(text)); err == nil {
			return g
		}
	}
	return Gold{Text: label}
}

// ReadGold reads a gold answer from JSON: a text, a number as it is written, a list of these as alternatives, or an object
// with nums and target.
func ReadGold(raw json.RawMessage) (Gold, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return Gold{}, errors.New("gold is missing, want a text, a number, a list or an object")
	}
	switch raw[0] {
	case '[':
		return readAlternatives(raw)
	case '{':
		return readCountdown(raw)
	case 't', 'f':
		return Gold{}, fmt.Errorf("gold is %s, want a text, a number, a list or an object", raw)
	}
	text, err := readScalar(raw)
	if err != nil {
		return Gold{}, err
	}
	return Gold{Text: text, Falsy: raw[0] != '"' && isZero(text)}, nil
}

// isZero reports whether a number of JSON, however long, is 0.
func isZero(number string) bool {
	digits, _, _ := strings.Cut(strings.ToLower(number), "e")
	return strings.Trim(digits, "-.0") == ""
}

// readScalar returns a text, or a number as it is written.
func readScalar(raw json.RawMessage) (string, error) {
	if raw[0] == '"' {
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return "", fmt.Errorf("gold: %w", err)
		}
		return s, nil
	}
	var n json.Number
	if err := json.Unmarshal(raw, &n); err != nil || n == "" {
		return "", fmt.Errorf("gold is %.60s, want a text, a number, a list or an object", raw)
	}
	return n.String(), nil
}

func readAlternatives(raw json.RawMessage) (Gold, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return Gold{}, fmt.Errorf("gold: %w", err)
	}
	if len(list) == 0 {
		return Gold{}, errors.New("gold is an empty list, want at least one alternative")
	}
	g := Gold{Alternatives: []string{}}
	for _, item := range list {
		text, err := readScalar(bytes.TrimSpace(item))
		if err != nil {
			return Gold{}, fmt.Errorf("alternative %d: %w", len(g.Alternatives)+1, err)
		}
		g.Alternatives = append(g.Alternatives, text)
	}
	return g, nil
}

// WithNumbers returns the gold answer of a countdown whose numbers stand beside it: {"nums": nums, "target": gold}. Where gold
// is no number, or nums no list of numbers, they are no countdown, and gold is what it was.
func WithNumbers(gold, nums json.RawMessage) json.RawMessage {
	gold, nums = bytes.TrimSpace(gold), bytes.TrimSpace(nums)
	if len(gold) == 0 || len(nums) == 0 || nums[0] != '[' || strings.IndexByte("{[ntf", gold[0]) >= 0 {
		return gold
	}
	both := fmt.Appendf(nil, `{"nums":%s,"target":%s}`, nums, gold)
	if _, err := readCountdown(both); err != nil {
		return gold
	}
	return both
}

// NumbersOf returns what stands under nums in an object of further facts, or nil.
func NumbersOf(metadata json.RawMessage) json.RawMessage {
	var meta struct {
		Numbers json.RawMessage `json:"nums"`
	}
	if !bytes.Contains(metadata, []byte(`"nums"`)) || json.Unmarshal(metadata, &meta) != nil {
		return nil
	}
	return meta.Numbers
}

func readCountdown(raw json.RawMessage) (Gold, error) {
	var object struct {
		Numbers []json.Number `json:"nums"`
		Target  *json.Number  `json:"target"`
	}
	var kind *json.UnmarshalTypeError
	if err := json.Unmarshal(raw, &object); errors.As(err, &kind) {
		return Gold{}, fmt.Errorf(`gold: %s is of type %s, want {"nums": [...], "target": N}`, kind.Field, kind.Value)
	} else if err != nil {
		return Gold{}, fmt.Errorf("gold: %w", err)
	}
	if object.Target == nil || len(object.Numbers) == 0 {
		return Gold{}, errors.New("gold is an object without nums and target, want both")
	}
	g := Gold{Text: object.Target.String()}
	var ok bool
	if g.Target, ok = smallNumber(object.Target.String()); !ok {
		return Gold{}, fmt.Errorf("target is %.40q, want a number", object.Target.String())
	}
	for _, n := range object.Numbers {
		x, ok := smallNumber(n.String())
		if !ok {
			return Gold{}, fmt.Errorf("nums holds %.40q, want numbers", n.String())
		}
		g.Numbers = append(g.Numbers, x)
	}
	return g, nil
}

// smallNumber reads a number that is short enough to compute with.
func smallNumber(text string) (*big.Rat, bool) {
	if len(text) > 40 || strings.ContainsAny(text, "eE") {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

// texts returns the alternatives, or the one answer.
func (g Gold) texts() []string {
	if g.Alternatives != nil {
		return g.Alternatives
	}
	return []string{g.Text}
}

// size returns the bytes of all alternatives.
func (g Gold) size() (n int) {
	for _, text := range g.texts() {
		n += len(text)
	}
	return n
}

// String returns what the gold answer is, for people.
func (g Gold) String() string { return strings.Join(g.texts(), " | ") }
