package data

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"furlong/chat"
)

// Config is what a file of prompts can be told. The zero value is not usable; start from Default.
type Config struct {
	File              string `flag:"prompt-data" help:"jsonl file of prompts, FILE or FILE@[a:b] for rows a to b-1"`
	InputKey          string `flag:"input-key" help:"key of the prompt: a string or a list of chat messages"`
	LabelKey          string `flag:"label-key" help:"key of the label; none reads no labels"`
	MetadataKey       string `flag:"metadata-key" help:"key of an object that travels with the prompt"`
	ApplyChatTemplate bool   `flag:"apply-chat-template" help:"treat a string prompt as one user message"`
	Shuffle           bool   `flag:"rollout-shuffle" help:"new order each epoch"`
	MaxPromptTokens   int    `flag:"rollout-max-prompt-len" help:"leave out longer prompts, in tokens; 0 keeps all"`
	AllowEmptyLabels  bool   `flag:"allow-empty-labels" help:"leave out rows with an empty label instead of stopping"`
	DropDuplicates    bool   `flag:"drop-duplicate-prompts" help:"keep the first of rows with the same text and label"`
	MaxLineBytes      int    `flag:"max-line-bytes" unit:"bytes" help:"longest line of a prompt file"`

	// Render turns messages into the text that the tokenizer sees.
	Render func([]chat.Message) (string, error)
}

// Default returns the settings of the published launch lines: input, no label, metadata, the file's order.
func Default() Config {
	return Config{InputKey: "input", MetadataKey: "metadata", MaxLineBytes: 16 << 20, Render: chat.PlainText}
}

// Validate reports everything that is wrong with c, in the words of the flags. No file at all is right.
func (c Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if _, _, err := parseSlice(c.File); err != nil {
		errs = append(errs, err)
	}
	if c.InputKey == "" {
		bad("--input-key is empty, want the key of the prompt")
	}
	if c.InputKey == c.LabelKey {
		bad("--label-key is %q, want another key than --input-key", c.LabelKey)
	}
	if c.MaxPromptTokens < 0 {
		bad("--rollout-max-prompt-len is %d, want 0 or more", c.MaxPromptTokens)
	}
	if c.MaxLineBytes < 1 {
		bad("--max-line-bytes is %d, want at least 1", c.MaxLineBytes)
	}
	if c.Render == nil {
		bad("no way to render chat messages is set")
	}
	return errors.Join(errs...)
}

// A span is a range of rows.
type span struct{ from, to int }

// everything is the span of a file without a slice.
var everything = span{0, int(^uint(0) >> 1)}

// String prints s as it is written after a file's name.
func (s span) String() string {
	if s.to == everything.to {
		return fmt.Sprintf("@[%d:]", s.from)
	}
	return fmt.Sprintf("@[%d:%d]", s.from, s.to)
}

// sliced matches the end of FILE@[a:b]; either number may be missing.
var sliced = regexp.MustCompile(`^(.*)@\[([^:\]]*):([^:\]]*)\]$`)

// parseSlice takes FILE@[a:b] apart.
func parseSlice(file string) (path string, rows span, err error) {
	m := sliced.FindStringSubmatch(file)
	if m == nil {
		if strings.Contains(file, "@[") {
			return "", span{}, fmt.Errorf("--prompt-data is %q, want FILE or FILE@[a:b]", file)
		}
		return file, everything, nil
	}
	rows = everything
	for _, end := range []struct {
		text string
		n    *int
	}{{m[2], &rows.from}, {m[3], &rows.to}} {
		if end.text == "" {
			continue
		}
		if *end.n, err = strconv.Atoi(end.text); err != nil || *end.n < 0 {
			return "", span{}, fmt.Errorf("--prompt-data is %q: row is %q, want a number from 0", file, end.text)
		}
	}
	if rows.from >= rows.to {
		return "", span{}, fmt.Errorf("--prompt-data is %q: first row is %d, want less than %d", file, rows.from, rows.to)
	}
	return m[1], rows, nil
}
