package chat

import (
	"encoding/json"
	"strings"
	"testing"

	"furlong/tokenizer"
)

func TestPlain(t *testing.T) {
	ask := Message{Role: "user", Content: "Hi"}
	for _, tt := range []struct {
		name string
		c    Conversation
		want string
	}{
		{"a question", Conversation{Messages: []Message{ask}}, "user: Hi\nassistant: "},
		{"continued", Conversation{Messages: []Message{ask, {Role: "assistant", Content: "Hel"}}, Options: Options{Continue: true}}, "user: Hi\nassistant: Hel"},
		{"no tools are told of", Conversation{Messages: []Message{ask}, Tools: []Tool{weather}, Choice: Choice{Mode: None}}, "user: Hi\nassistant: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Plain{}.Render(&tt.c)
			if err != nil || got.Text() != tt.want || got.Start.Mode != Verbatim {
				t.Errorf("Render = %q, mode %d, %v, want %q", got.Text(), got.Start.Mode, err, tt.want)
			}
			ids, err := got.Encode(tokenizer.Bytes{})
			if err != nil || len(ids) != len(tt.want) {
				t.Errorf("%d ids, %v, want one a byte", len(ids), err)
			}
		})
	}
}

func TestPlainRefuses(t *testing.T) {
	ask := []Message{{Role: "user", Content: "Hi"}}
	for _, tt := range []struct {
		name string
		c    Conversation
		want string
	}{
		{"nothing", Conversation{}, "conversation is empty"},
		{"thinking", Conversation{Messages: ask, Options: Options{Thinking: true}}, "thinking is asked for"},
		{"effort", Conversation{Messages: ask, Options: Options{Effort: "low"}}, `reasoning effort is "low"`},
		{"tools", Conversation{Messages: ask, Tools: []Tool{weather}}, "tools are given"},
		{"a forced call", Conversation{Messages: ask, Choice: Choice{Mode: Required}}, `tool choice is "required"`},
		{"thoughts", Conversation{Messages: []Message{{Role: "assistant", Reasoning: "x"}, ask[0]}}, "message 0 has reasoning"},
		{"nothing to continue", Conversation{Messages: ask, Options: Options{Continue: true}}, "want it to be the assistant's"},
		{"nobody to answer", Conversation{Messages: []Message{ask[0], {Role: "assistant"}}}, "last message is the assistant's"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Plain{}.Render(&tt.c)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Render = %q, %v, want an error with %q", p.Text(), err, tt.want)
			}
		})
	}
}

func TestFor(t *testing.T) {
	if got, err := For(tokenizer.Bytes{}, ""); got != (Plain{}) || err != nil {
		t.Errorf("For bytes = %v, %v, want Plain", got, err)
	}
	got, err := For(tiny(t), t.TempDir())
	if err != nil || !got.Defaults().Thinking {
		t.Errorf("For DeepSeek's tokens = %v, %v, want its template, which thinks", got, err)
	}
}

func TestOptionsSet(t *testing.T) {
	for _, tt := range []struct {
		kwargs string
		want   Options
		err    string
	}{
		{`{}`, Options{Thinking: true}, ""},
		{`{"thinking_mode":"chat"}`, Options{}, ""},
		{`{"enable_thinking":false,"thinking":false}`, Options{}, ""},
		{`{"thinking_mode":"thinking","drop_thinking":false,"reasoning_effort":"max"}`, Options{Thinking: true, KeepThinking: true, Effort: "max"}, ""},
		{`{"drop_thinking":true}`, Options{Thinking: true}, ""},
		{`{"thinking":true,"enable_thinking":false}`, Options{}, "thinking is for thinking and enable_thinking against it"},
		{`{"thinking_mode":"no"}`, Options{}, `thinking_mode: value is "no"`},
		{`{"thinking":"yes"}`, Options{}, `thinking: value is "yes", want true or false`},
		{`{"drop_thinking":1}`, Options{}, "drop_thinking: value is 1"},
		{`{"reasoning_effort":1}`, Options{}, "reasoning_effort: value is 1"},
		{`{"think":true}`, Options{}, "think: unknown"},
	} {
		var kwargs map[string]json.RawMessage
		if err := json.Unmarshal([]byte(tt.kwargs), &kwargs); err != nil {
			t.Fatal(err)
		}
		got := Options{Thinking: true}
		err := got.Set(kwargs)
		if tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("Set(%s): %v, want %q", tt.kwargs, err, tt.err)
		}
		if tt.err == "" && (err != nil || got != tt.want) {
			t.Errorf("Set(%s) = %+v, %v, want %+v", tt.kwargs, got, err, tt.want)
		}
	}
}

func TestPlainText(t *testing.T) {
	turns := []Message{
		{Role: "system", Content: "Be brief."},
		{Role: "user", Content: "What is 2+2?"},
		{Role: "assistant", Content: "4"},
		{Role: "user", Content: "And 3+3?"},
	}
	want := "system: Be brief.\nuser: What is 2+2?\nassistant: 4\nuser: And 3+3?\nassistant: "
	got, err := PlainText(turns)
	if err != nil || got != want {
		t.Errorf("PlainText = %q, %v, want %q", got, err, want)
	}
}

func TestPlainTextRefuses(t *testing.T) {
	for _, tt := range []struct {
		name  string
		turns []Message
		want  string
	}{
		{"nothing", nil, "conversation is empty"},
		{"unknown role", []Message{{Role: "user", Content: "a"}, {Role: "User", Content: "b"}}, `message 1: role is "User"`},
		{"nobody to answer", []Message{{Role: "user", Content: "a"}, {Role: "assistant", Content: "b"}}, "last message is the assistant's"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := PlainText(tt.turns); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("PlainText = %q, %v, want an error with %q", got, err, tt.want)
			}
		})
	}
}
