package chat

import (
	"errors"
	"fmt"

	"furlong/tokenizer"
)

// Plain is the template of models without one of their own; [tokenizer.Plain] shows it. It knows neither thinking nor
// tools. The zero value is ready.
type Plain struct{}

// Defaults returns no options.
func (Plain) Defaults() Options { return Options{} }

// Begin returns that the answer is all content.
func (Plain) Begin(c *Conversation) (Start, error) {
	switch {
	case c.Thinking || c.KeepThinking:
		return Start{}, errors.New("thinking is asked for, but this model's template has none")
	case c.Effort != "":
		return Start{}, fmt.Errorf("reasoning effort is %q, but this model's template has none", c.Effort)
	case c.hasTools():
		return Start{}, errors.New("tools are given, but this model's template has none")
	case c.forced():
		return Start{}, fmt.Errorf("tool choice is %q, but there are no tools", c.Choice.Mode)
	}
	return Start{Mode: Verbatim}, nil
}

// Render returns the turns under the names of their roles.
func (p Plain) Render(c *Conversation) (Prompt, error) {
	start, err := p.Begin(c)
	if err != nil {
		return Prompt{}, err
	}
	turns := make([]tokenizer.Message, len(c.Messages))
	for i, m := range c.Messages {
		if m.Reasoning != "" || len(m.Calls) > 0 {
			return Prompt{}, fmt.Errorf("message %d has reasoning or tool calls, but this model's template has none", i)
		}
		turns[i] = tokenizer.Message{Role: m.Role, Content: m.Content}
	}
	prompt := Prompt{Start: start}
	said := ""
	if c.Continue {
		if turns, said, err = takeLast(turns); err != nil {
			return Prompt{}, err
		}
	}
	text, err := tokenizer.Plain(turns)
	prompt.text(text + said)
	return prompt, err
}

// takeLast returns the turns before the last one, which is the assistant's, and what that one says.
func takeLast(turns []tokenizer.Message) ([]tokenizer.Message, string, error) {
	n := len(turns) - 1
	if n < 0 || turns[n].Role != "assistant" {
		return nil, "", errors.New("the last message is to be continued, want it to be the assistant's")
	}
	return turns[:n], turns[n].Content, nil
}
