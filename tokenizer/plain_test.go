package tokenizer

import (
	"strings"
	"testing"
)

func TestPlain(t *testing.T) {
	turns := []Message{
		{"system", "Be brief."},
		{"user", "What is 2+2?"},
		{"assistant", "4"},
		{"user", "And 3+3?"},
	}
	want := "system: Be brief.\nuser: What is 2+2?\nassistant: 4\nuser: And 3+3?\nassistant: "
	got, err := Plain(turns)
	if err != nil || got != want {
		t.Errorf("Plain = %q, %v, want %q", got, err, want)
	}
}

func TestPlainRefuses(t *testing.T) {
	for _, tt := range []struct {
		name  string
		turns []Message
		want  string
	}{
		{"nothing", nil, "conversation is empty"},
		{"unknown role", []Message{{"user", "a"}, {"User", "b"}}, `message 1: role is "User"`},
		{"nobody to answer", []Message{{"user", "a"}, {"assistant", "b"}}, "last message is the assistant's"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := Plain(tt.turns); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Plain = %q, %v, want an error with %q", got, err, tt.want)
			}
		})
	}
}
