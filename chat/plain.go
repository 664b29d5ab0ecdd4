package chat

import (
	"errors"
	"fmt"
	"strings"
)

// Plain is the template of models without one of their own; [PlainText] shows it. It knows neither thinking nor
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
	turns := c.Messages
	for i, m := range turns {
		if m.Reasoning != "" || len(m.Calls) > 0 {
			return Prompt{}, fmt.Errorf("message %d has reasoning or tool calls, but this model's template has none", i)
		}
	}
	prompt := Prompt{Start: start}
	said := ""
	if c.Continue {
		if turns, said, err = takeLast(turns); err != nil {
			return Prompt{}, err
		}
	}
	text, err := PlainText(turns)
	prompt.text(text + said)
	return prompt, err
}

// takeLast returns the turns before the last one, which is the assistant's, and what that one says.
func takeLast(turns []Message) ([]Message, string, error) {
	n := len(turns) - 1
	if n < 0 || turns[n].Role != "assistant" {
		return nil, "", errors.New("the last message is to be continued, want it to be the assistant's")
	}
	return turns[:n], turns[n].Content, nil
}

// PlainText renders a conversation for models without a template of their own, such as those over bytes: each turn is its
// role, a colon, a space, its content and a newline; then comes the role whose turn it is, the assistant.
//
//	user: What is 2+2?
//	assistant:
//
// with one space after the last colon and no newline. It is made to be continued, not to be read back: content that
// looks like a turn is not escaped.
func PlainText(turns []Message) (string, error) {
	if len(turns) == 0 {
		return "", errors.New("conversation is empty, want at least one message")
	}
	var b strings.Builder
	for i, m := range turns {
		if err := m.plainRole(); err != nil {
			return "", fmt.Errorf("message %d: %w", i, err)
		}
		fmt.Fprintf(&b, "%s: %s\n", m.Role, m.Content)
	}
	if turns[len(turns)-1].Role == "assistant" {
		return "", errors.New("last message is the assistant's, want one to answer")
	}
	b.WriteString("assistant: ")
	return b.String(), nil
}

// plainRole reports a role that there is no name for.
func (m Message) plainRole() error {
	switch m.Role {
	case "system", "developer", "user", "assistant", "tool":
		return nil
	}
	return fmt.Errorf("role is %q, want system, developer, user, assistant or tool", m.Role)
}
