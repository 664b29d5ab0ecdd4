package tokenizer

import (
	"errors"
	"fmt"
	"strings"
)

// A Message is one turn of a conversation.
type Message struct {
	Role    string `json:"role"` // system, developer, user, assistant or tool
	Content string `json:"content"`
}

// Plain renders a conversation for models without a template of their own, such as those over [Bytes]: each turn is its
// role, a colon, a space, its content and a newline; then comes the role whose turn it is, the assistant.
//
//	user: What is 2+2?
//	assistant:
//
// with one space after the last colon and no newline. It is made to be continued, not to be read back: content that
// looks like a turn is not escaped.
func Plain(turns []Message) (string, error) {
	if len(turns) == 0 {
		return "", errors.New("conversation is empty, want at least one message")
	}
	var b strings.Builder
	for i, m := range turns {
		if err := m.check(); err != nil {
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

// check reports a role that no template knows.
func (m Message) check() error {
	switch m.Role {
	case "system", "developer", "user", "assistant", "tool":
		return nil
	}
	return fmt.Errorf("role is %q, want system, developer, user, assistant or tool", m.Role)
}
