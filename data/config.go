package data

import (
	"encoding/json"
	"errors"
	"fmt"

	"furlong/chat"
)

// Config is what files of prompts can be told. The zero value is not usable; start from Default.
type Config struct {
	File              string `flag:"prompt-data" help:"prompts, jsonl or Parquet: FILE, FILE@[a:b] for rows a to b-1, or a mix NAME=FILE:WEIGHT,NAME=FILE:WEIGHT"`
	InputKey          string `flag:"input-key" help:"key of the prompt: a string or a list of chat messages"`
	LabelKey          string `flag:"label-key" help:"key of the label; none reads no labels"`
	MetadataKey       string `flag:"metadata-key" help:"key of an object that travels with the prompt"`
	ToolKey           string `flag:"tool-key" help:"key of the tools that the prompt tells the model of, a list; none reads no tools"`
	ApplyChatTemplate bool   `flag:"apply-chat-template" help:"treat a string prompt as one user message"`
	TemplateArgs      string `flag:"apply-chat-template-kwargs" help:"options of the chat template as a JSON object, such as {\"thinking_mode\": \"chat\"}"`
	Shuffle           bool   `flag:"rollout-shuffle" help:"new order each epoch"`
	MaxPromptTokens   int    `flag:"rollout-max-prompt-len" help:"leave out longer prompts, in tokens; 0 keeps all"`
	AllowEmptyLabels  bool   `flag:"allow-empty-labels" help:"leave out rows with an empty label instead of stopping"`
	DropDuplicates    bool   `flag:"drop-duplicate-prompts" help:"keep the first of rows with the same text and label"`
	MaxLineBytes      int    `flag:"max-line-bytes" unit:"bytes" help:"longest row of a prompt file; longer ones count as malformed"`
	Memory            int    `flag:"prompt-data-memory" unit:"bytes" help:"hold files up to this size in memory; of larger ones, an index"`
	Workers           int    `flag:"prompt-data-workers" help:"rows rendered and tokenised at once; 0 takes one a processor"`

	// Template renders messages; nil is [chat.Plain].
	Template chat.Template
	// Progress is told how many bytes of how many have been read; nil is told nothing. It is called by one goroutine.
	Progress func(done, total int64)
}

// Default returns the settings of the published launch lines: input, no label, metadata, tools, the file's order.
func Default() Config {
	return Config{InputKey: "input", MetadataKey: "metadata", ToolKey: "tools", MaxLineBytes: 16 << 20, Memory: 256 << 20}
}

// Validate reports everything that is wrong with c, in the words of the flags. No file at all is right.
func (c Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if _, err := c.parts(); err != nil {
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
	if c.MaxLineBytes < 1 || c.MaxLineBytes > 1<<30 {
		bad("--max-line-bytes is %d, want 1 to %d", c.MaxLineBytes, 1<<30)
	}
	if c.Memory < 0 {
		bad("--prompt-data-memory is %d, want 0 or more", c.Memory)
	}
	if c.Workers < 0 || c.Workers > 1024 {
		bad("--prompt-data-workers is %d, want 0 (one a processor) to 1024", c.Workers)
	}
	if _, err := c.kwargs(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// kwargs returns the options of the template as they are written.
func (c Config) kwargs() (map[string]json.RawMessage, error) {
	var kwargs map[string]json.RawMessage
	if c.TemplateArgs == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(c.TemplateArgs), &kwargs); err != nil {
		return nil, fmt.Errorf("--apply-chat-template-kwargs is %.60q, want a JSON object: %w", c.TemplateArgs, err)
	}
	return kwargs, nil
}
