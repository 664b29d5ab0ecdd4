package chat

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"furlong/tokenizer"
)

// testTexts stand for those of a checkpoint.
var testTexts = Texts{Tools: "## T {dsml_token} {{x}}\n{tool_schemas}\n.", Effort: "Try hard.\n\n"}

func template() *DeepSeek { return &DeepSeek{texts: testTexts} }

// short spells the marks briefly, so that a prompt can be read: [ and ] are the two ends of text, @ is the mark of tools.
var short = strings.NewReplacer("[", bos, "]", eos, "U:", user, "A:", assistant, "R:", reminder, "@", dsml)

var weather = Tool{Name: "weather", Schema: json.RawMessage(`{"name":"weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}`)}

const weatherText = `## T @ {x}
{"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
.`

func TestDeepSeek(t *testing.T) {
	ask := Message{Role: "user", Content: "Hi"}
	thought := Message{Role: "assistant", Reasoning: "Hm", Content: "Hello"}
	call := Message{Role: "assistant", Reasoning: "Look", Content: "Wait.", Calls: []Call{
		{ID: "a", Name: "weather", Arguments: `{"city":"Paris","days":3,"x":[1,{"y":null}]}`},
		{ID: "b", Name: "weather", Arguments: `{}`},
	}}
	calls := "\n\n<@tool_calls>\n<@invoke name=\"weather\">\n<@parameter name=\"city\" string=\"true\">Paris</@parameter>\n" +
		"<@parameter name=\"days\" string=\"false\">3</@parameter>\n<@parameter name=\"x\" string=\"false\">{list}</@parameter>\n" +
		"</@invoke>\n<@invoke name=\"weather\">\n\n</@invoke>\n</@tool_calls>"
	think, chat := Options{Thinking: true}, Options{}
	for _, tt := range []struct {
		name string
		c    Conversation
		want string
		mode Mode
	}{
		{"thinking", Conversation{Messages: []Message{ask}, Options: think}, "[U:HiA:<think>", Reasoning},
		{"chat", Conversation{Messages: []Message{ask}, Options: chat}, "[U:HiA:</think>", Content},
		{"system", Conversation{Messages: []Message{{Role: "system", Content: "Be kind."}, ask}}, "[Be kind.U:HiA:</think>", Content},
		{"developer", Conversation{Messages: []Message{{Role: "developer", Content: "Be kind."}, ask}}, "[U:Be kind.U:HiA:</think>", Content},
		{"reminder", Conversation{Messages: []Message{{Role: "latest_reminder", Content: "It's May."}, ask}}, "[R:It's May.U:HiA:</think>", Content},
		{"older thoughts go", Conversation{Messages: []Message{ask, thought, ask}, Options: think}, "[U:HiA:</think>Hello]U:HiA:<think>", Reasoning},
		{
			"or stay",
			Conversation{Messages: []Message{ask, thought, ask}, Options: Options{Thinking: true, KeepThinking: true}},
			"[U:HiA:<think>Hm</think>Hello]U:HiA:<think>", Reasoning,
		},
		{
			"and stay with tools",
			Conversation{Messages: []Message{ask, thought, ask}, Tools: []Tool{weather}, Options: think},
			"[\n\n{tools}U:HiA:<think>Hm</think>Hello]U:HiA:<think>", Reasoning,
		},
		{
			"but not with tools that nobody is told of",
			Conversation{Messages: []Message{ask, thought, ask}, Tools: []Tool{weather}, Choice: Choice{Mode: None}, Options: think},
			"[U:HiA:</think>Hello]U:HiA:<think>", Reasoning,
		},
		{"chat shows none", Conversation{Messages: []Message{ask, thought, ask}, Options: Options{KeepThinking: true}}, "[U:HiA:</think>Hello]U:HiA:</think>", Content},
		{
			"tools after the system text",
			Conversation{Messages: []Message{{Role: "system", Content: "Be kind."}, ask}, Tools: []Tool{weather, {Name: "now", Schema: json.RawMessage(`{}`)}}},
			"[Be kind.\n\n" + strings.Replace(weatherText, "\n.", "\n{}\n.", 1) + "U:HiA:</think>", Content,
		},
		{
			"calls and results",
			Conversation{Messages: []Message{
				ask, call, {Role: "tool", CallID: "b", Content: "two"}, {Role: "tool", CallID: "a", Content: "one"}, {Role: "user", Content: "Well?"},
			}, Tools: []Tool{weather}, Options: think},
			"[\n\n{tools}U:HiA:<think>Look</think>Wait." + calls +
				"]U:<tool_result>one</tool_result>\n\n<tool_result>two</tool_result>\n\nWell?A:<think>", Reasoning,
		},
		{
			"results without names",
			Conversation{Messages: []Message{ask, call, {Role: "tool", Content: "one"}, {Role: "tool", Content: "two"}}},
			"[U:HiA:</think>Wait." + calls + "]U:<tool_result>one</tool_result>\n\n<tool_result>two</tool_result>A:</think>", Content,
		},
		{"two questions", Conversation{Messages: []Message{ask, {Role: "user", Content: "You?"}}}, "[U:Hi\n\nYou?A:</think>", Content},
		{"effort", Conversation{Messages: []Message{{Role: "system", Content: "S"}, ask}, Options: Options{Thinking: true, Effort: "max"}}, "[Try hard.\n\nSU:HiA:<think>", Reasoning},
		{"continued", Conversation{Messages: []Message{ask, thought}, Options: Options{Thinking: true, Continue: true}}, "[U:HiA:<think>Hm</think>Hello", Content},
		{"continued thought", Conversation{Messages: []Message{ask, {Role: "assistant", Reasoning: "Hm"}}, Options: Options{Thinking: true, Continue: true}}, "[U:HiA:<think>Hm", Reasoning},
		{"continued chat", Conversation{Messages: []Message{ask, {Role: "assistant", Content: "He"}}, Options: Options{Continue: true}}, "[U:HiA:</think>He", Content},
		{
			"a call is forced",
			Conversation{Messages: []Message{ask}, Tools: []Tool{weather}, Choice: Choice{Mode: Required}},
			"[\n\n{tools}U:HiA:</think>\n\n<@tool_calls>\n", Content,
		},
		{
			"a certain call is",
			Conversation{Messages: []Message{ask}, Tools: []Tool{weather}, Choice: Choice{Mode: Named, Name: "weather"}},
			"[\n\n{tools}U:HiA:</think>\n\n<@tool_calls>\n<@invoke name=\"weather\">\n", Content,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := short.Replace(strings.ReplaceAll(tt.want, "{tools}", weatherText))
			want = strings.ReplaceAll(want, "{list}", `[1, {"y": null}]`)
			got, err := template().Render(&tt.c)
			if err != nil {
				t.Fatal(err)
			}
			if got.Text() != want {
				t.Errorf("Render is\n%s\nwant\n%s", got.Text(), want)
			}
			if got.Start.Mode != tt.mode {
				t.Errorf("the answer begins in mode %d, want %d", got.Start.Mode, tt.mode)
			}
		})
	}
}

func tiny(t testing.TB) *tokenizer.BPE {
	t.Helper()
	tok, err := tokenizer.Open("../tokenizer/testdata/tiny")
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// TestIDs: where no text forges a control token, the ids are those of the whole prompt as one string.
func TestIDs(t *testing.T) {
	tok := tiny(t)
	c := Conversation{Messages: []Message{
		{Role: "system", Content: "We think."},
		{Role: "user", Content: "The weather in Paris, please."},
		{Role: "assistant", Reasoning: "I think.", Calls: []Call{{Name: "weather", Arguments: `{"city": "Paris"}`}}},
		{Role: "tool", Content: "18 degrees"},
	}, Tools: []Tool{weather}, Options: Options{Thinking: true}}
	p, err := template().Render(&c)
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Encode(tok)
	if err != nil {
		t.Fatal(err)
	}
	if want := tok.EncodeSpecial(p.Text()); !slices.Equal(got, want) {
		t.Errorf("ids are %v, want %v", got, want)
	}
	if got[0] != tok.BOS() {
		t.Errorf("the first id is %d, want that of the beginning, %d", got[0], tok.BOS())
	}
}

// TestForgery writes control tokens into everything a client can: none of them becomes one.
func TestForgery(t *testing.T) {
	tok := tiny(t)
	conversation := func(s string) *Conversation {
		schema, err := json.Marshal(map[string]string{"name": s})
		if err != nil {
			t.Fatal(err)
		}
		arguments, err := json.Marshal(map[string]any{s: s, "n": []string{s}})
		if err != nil {
			t.Fatal(err)
		}
		return &Conversation{Messages: []Message{
			{Role: "system", Content: s},
			{Role: "latest_reminder", Content: s},
			{Role: "user", Content: s},
			{Role: "assistant", Reasoning: s, Content: s, Calls: []Call{{ID: s, Name: s, Arguments: string(arguments)}}},
			{Role: "tool", CallID: s, Content: s},
			{Role: "developer", Content: s},
		}, Tools: []Tool{{Name: s, Schema: schema}}, Choice: Choice{Mode: Named, Name: s}}
	}
	control := func(s string) (n int) {
		p, err := template().Render(conversation(s))
		if err != nil {
			t.Fatal(err)
		}
		ids, err := p.Encode(tok)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			if text := string(tok.AppendSpecial(nil, id)); strings.ContainsAny(text, "｜") || strings.Contains(text, "think>") {
				n++
			}
		}
		return n
	}
	want := control("x")
	for _, mark := range []string{bos, eos, user, assistant, reminder, thinkStart, thinkEnd, dsml} {
		if got := control("x" + mark + "y"); got != want {
			t.Errorf("with %s in all texts the prompt has %d control tokens, want %d", mark, got, want)
		}
	}
}

func TestDeepSeekRefuses(t *testing.T) {
	ask := []Message{{Role: "user", Content: "Hi"}}
	called := Message{Role: "assistant", Calls: []Call{{ID: "a", Name: "f", Arguments: "{}"}}}
	withCall := func(c Call) []Message {
		return []Message{ask[0], {Role: "assistant", Calls: []Call{c}}, ask[0]}
	}
	for _, tt := range []struct {
		name string
		c    Conversation
		want string
	}{
		{"nothing", Conversation{}, "messages are empty"},
		{"a role", Conversation{Messages: []Message{ask[0], {Role: "User"}}}, `message 1: role is "User"`},
		{"nobody to answer", Conversation{Messages: []Message{{Role: "system", Content: "x"}}}, "the last message is neither the user's"},
		{"an answer at the end", Conversation{Messages: []Message{ask[0], {Role: "assistant", Content: "x"}}}, "the last message is neither the user's"},
		{"nothing to continue", Conversation{Messages: ask, Options: Options{Continue: true}}, "want it to be the assistant's"},
		{"calls to continue", Conversation{Messages: []Message{ask[0], called}, Options: Options{Continue: true}}, "want it without tool calls"},
		{"effort unknown", Conversation{Messages: ask, Options: Options{Effort: "huge"}}, `reasoning effort is "huge"`},
		{"effort without thought", Conversation{Messages: ask, Options: Options{Effort: "max"}}, "reasoning effort is max without thinking"},
		{"thoughts of the user", Conversation{Messages: []Message{{Role: "user", Reasoning: "x"}}}, `message 0: role is "user" with reasoning`},
		{"an answer of the user", Conversation{Messages: []Message{{Role: "user", CallID: "x"}}}, `role is "user" with tool_call_id`},
		{"a result of nothing", Conversation{Messages: []Message{ask[0], {Role: "tool", CallID: "a"}}}, `message 1: tool_call_id is "a", want an unanswered one of the 0 calls`},
		{"a result too many", Conversation{Messages: []Message{called, {Role: "tool"}, {Role: "tool"}}}, "message 2: a tool's result without tool_call_id, but all 1 calls"},
		{"a result twice", Conversation{Messages: []Message{called, {Role: "tool", CallID: "a"}, {Role: "tool", CallID: "a"}}}, `message 2: tool_call_id is "a"`},
		{"arguments", Conversation{Messages: withCall(Call{Name: "f", Arguments: "[1]"})}, `message 1: call of "f": arguments are "[1]", want a JSON object`},
		{"broken arguments", Conversation{Messages: withCall(Call{Name: "f", Arguments: `{"a":}`})}, `call of "f": arguments: "a"`},
		{"arguments cut off", Conversation{Messages: withCall(Call{Name: "f", Arguments: `{"a":1`})}, `call of "f": arguments`},
		{"two objects", Conversation{Messages: withCall(Call{Name: "f", Arguments: `{}{}`})}, "more follows after the object"},
		{"a call without name", Conversation{Messages: withCall(Call{Arguments: `{}`})}, `want a name without ">`},
		{"a name that ends its tag", Conversation{Messages: withCall(Call{Name: `f">`, Arguments: `{}`})}, `want a name without ">`},
		{"an argument that ends its name", Conversation{Messages: withCall(Call{Name: "f", Arguments: `{"a\" string=\"":1}`})}, "want a name without"},
		{"a schema", Conversation{Messages: ask, Tools: []Tool{{Name: "f", Schema: json.RawMessage(`{`)}}}, `tool "f": value is "{", want JSON`},
		{"a deep schema", Conversation{Messages: ask, Tools: []Tool{{Name: "f", Schema: json.RawMessage(strings.Repeat("[", 1<<20))}}}, `want JSON`},
		{"a tool without name", Conversation{Messages: ask, Tools: []Tool{{}}}, `tool 0 is called ""`},
		{"tools of one name", Conversation{Messages: ask, Tools: []Tool{weather, weather}}, `tool 1 is called "weather", as one before`},
		{"a choice without tools", Conversation{Messages: ask, Choice: Choice{Mode: Required}}, `tool choice is "required", but there are no tools`},
		{"a choice of another tool", Conversation{Messages: ask, Tools: []Tool{weather}, Choice: Choice{Mode: Named, Name: "f"}}, `tool choice names "f"`},
		{"a choice with thinking", Conversation{Messages: ask, Tools: []Tool{weather}, Choice: Choice{Mode: Required}, Options: Options{Thinking: true}}, "with thinking"},
		{"a choice unknown", Conversation{Messages: ask, Choice: Choice{Mode: "any"}}, `tool choice is "any"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := template().Render(&tt.c)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Render = %q, %v, want an error with %q", p.Text(), err, tt.want)
			}
		})
	}
}

func TestEncodeWithoutMarks(t *testing.T) {
	p, err := template().Render(&Conversation{Messages: []Message{{Role: "user", Content: "Hi"}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Encode(tokenizer.Bytes{}); err == nil || !strings.Contains(err.Error(), "the template is another model's") {
		t.Errorf("Encode over bytes: %v, want an error", err)
	}
}
