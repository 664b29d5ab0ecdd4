package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
)

// deepSeekSplits are the regular expressions that splitter carries out, in their order.
var deepSeekSplits = []string{
	`\p{N}{1,3}`,
	"[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
	"[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+" +
		"|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+" +
		"| ?[\\p{P}\\p{S}]+[\r\n]*" +
		"|\\s*[\r\n]+" +
		"|\\s+(?!\\S)" +
		"|\\s+",
}

type sequence struct {
	Type          string            `json:"type"`
	Normalizers   []json.RawMessage `json:"normalizers"`
	PreTokenizers []json.RawMessage `json:"pretokenizers"`
}

type splitStep struct {
	Type    string `json:"type"`
	Pattern struct {
		Regex  *string `json:"Regex"`
		String *string `json:"String"`
	} `json:"pattern"`
	Behavior string `json:"behavior"`
	Invert   bool   `json:"invert"`
}

type byteLevelStep struct {
	Type        string `json:"type"`
	PrefixSpace bool   `json:"add_prefix_space"`
	TrimOffsets bool   `json:"trim_offsets"` // offsets are not handed out, so this changes nothing
	UseRegex    bool   `json:"use_regex"`
}

// checkNormalizer wants text left as it is.
func checkNormalizer(raw json.RawMessage) error {
	if absent(raw) {
		return nil
	}
	var s sequence
	if err := strict(raw, &s); err != nil {
		return fmt.Errorf("normalizer: %w", err)
	}
	if s.Type != "Sequence" || len(s.Normalizers) != 0 {
		return fmt.Errorf("normalizer is %.80s, want null or an empty Sequence", raw)
	}
	return nil
}

// checkSplits wants DeepSeek's pre-tokenisation, step by step.
func checkSplits(raw json.RawMessage) error {
	var s sequence
	if absent(raw) {
		return errors.New("pre_tokenizer is not there, want a Sequence")
	}
	if err := strict(raw, &s); err != nil {
		return fmt.Errorf("pre_tokenizer: %w", err)
	}
	if want := len(deepSeekSplits) + 1; s.Type != "Sequence" || len(s.PreTokenizers) != want {
		return fmt.Errorf("pre_tokenizer is a %q of %d steps, want a Sequence of %d, DeepSeek's", s.Type, len(s.PreTokenizers), want)
	}
	for i, want := range deepSeekSplits {
		if err := checkSplit(s.PreTokenizers[i], want); err != nil {
			return fmt.Errorf("pre_tokenizer: step %d: %w", i, err)
		}
	}
	var last byteLevelStep
	if err := strict(s.PreTokenizers[len(deepSeekSplits)], &last); err != nil {
		return fmt.Errorf("pre_tokenizer: step %d: %w", len(deepSeekSplits), err)
	}
	if last.Type != "ByteLevel" || last.PrefixSpace || last.UseRegex {
		return fmt.Errorf("pre_tokenizer: step %d is %+v, want a ByteLevel without add_prefix_space and use_regex", len(deepSeekSplits), last)
	}
	return nil
}

func checkSplit(raw json.RawMessage, want string) error {
	var s splitStep
	if err := strict(raw, &s); err != nil {
		return err
	}
	switch {
	case s.Type != "Split":
		return fmt.Errorf("type is %q, want Split", s.Type)
	case s.Pattern.Regex == nil:
		return fmt.Errorf("pattern is not a Regex, want %q", want)
	case *s.Pattern.Regex != want:
		return fmt.Errorf("pattern is %q, want %q: no other is known", *s.Pattern.Regex, want)
	case s.Behavior != "Isolated" || s.Invert:
		return fmt.Errorf("behavior is %q, inverted %t, want Isolated, false", s.Behavior, s.Invert)
	}
	return nil
}

// checkByteLevel wants the step that goes from bytes to characters and back, and whose options concern offsets only.
func checkByteLevel(name string, raw json.RawMessage, optional bool) error {
	if absent(raw) && optional {
		return nil
	}
	if absent(raw) {
		return fmt.Errorf("%s is not there, want ByteLevel", name)
	}
	var s byteLevelStep
	if err := strict(raw, &s); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if s.Type != "ByteLevel" {
		return fmt.Errorf("%s: type is %q, want ByteLevel", name, s.Type)
	}
	return nil
}
