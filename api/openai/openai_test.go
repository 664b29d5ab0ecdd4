package openai

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
)

func TestReadCompletion(t *testing.T) {
	for _, tt := range []struct {
		body  string
		texts []string
		ids   [][]int32
		many  bool
	}{
		{`{"prompt":"a"}`, []string{"a"}, nil, false},
		{`{"prompt":["a","b"],"zzz":1}`, []string{"a", "b"}, nil, true},
		{`{"prompt":[1,2]}`, nil, [][]int32{{1, 2}}, false},
		{`{"prompt":[ [1],[2,3]]}`, nil, [][]int32{{1}, {2, 3}}, true},
		{`{"prompt":[]}`, nil, [][]int32{{}}, false},
	} {
		c, err := ReadCompletion([]byte(tt.body))
		if err != nil {
			t.Errorf("%s: %v", tt.body, err)
			continue
		}
		if want := (Prompt{tt.texts, tt.ids, tt.many}); !reflect.DeepEqual(c.Prompt, want) {
			t.Errorf("%s: prompt %+v, want %+v", tt.body, c.Prompt, want)
		}
	}
}

func TestReadChat(t *testing.T) {
	c, err := ReadChat([]byte(`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},{"role":"assistant","content":null}],
		"temperature":0.5,"max_tokens":5,"max_completion_tokens":7,"stop":"x","tool_choice":{"type":"function","function":{"name":"f"}},"seed":null,"stream_options":{"include_usage":true}}`))
	if err != nil {
		t.Fatal(err)
	}
	if c.Messages[0].Content != "ab" || c.Messages[1].Content != "" || *c.Temperature != 0.5 || *c.Limit() != 7 || c.Stop[0] != "x" {
		t.Errorf("request is %+v", c)
	}
	if c.ToolChoice != (ToolChoice{"function", "f"}) || c.Seed != nil || !c.StreamOptions.IncludeUsage || c.Model != "m" {
		t.Errorf("request is %+v", c)
	}
}

func TestRefusals(t *testing.T) {
	for body, want := range map[string]string{
		`[]`:                              "body is a array, want an object",
		`{"messages":"hi"}`:               "messages is a string, want a list",
		`{"temperature":"hot"}`:           "temperature is a string, want a number",
		`{"tool_choice":"maybe"}`:         `tool_choice is "maybe"`,
		`{"tool_choice":{"type":"none"}}`: "tool_choice has no function.name",
		`{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}`: `part 0 of the content is of type "image_url", want text`,
	} {
		if _, err := ReadChat([]byte(body)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
}

func TestResponseFormat(t *testing.T) {
	for _, tt := range []struct{ format, schema, tag, err string }{
		{`{"type":"text"}`, "", "", ""},
		{`{"type":"json_object"}`, `{"type":"object"}`, "", ""},
		{`{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"null"}}}`, `{"type":"null"}`, "", ""},
		{`{"type":"structural_tag","structures":[],"triggers":["<f"]}`, "", `{"type":"structural_tag","structures":[],"triggers":["<f"]}`, ""},
		{`{"type":"json_schema"}`, "", "", "has no json_schema.schema"},
		{`{"type":"xml"}`, "", "", `has the type "xml"`},
	} {
		c, err := ReadChat([]byte(`{"response_format":` + tt.format + `}`))
		if err != nil {
			t.Fatal(err)
		}
		p, err := c.Params(nil)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %v, want %s", tt.format, err, tt.err)
			}
			continue
		}
		if err != nil || text(p.JSONSchema) != tt.schema || text(p.StructuralTag) != tt.tag || !p.MaxNewTokens.None {
			t.Errorf("%s: schema %s, tag %s, %v", tt.format, text(p.JSONSchema), text(p.StructuralTag), err)
		}
	}
	c, _ := ReadChat([]byte(`{"response_format":{"type":"json_object"},"json_schema":"{}"}`))
	if _, err := c.Params(nil); err == nil {
		t.Error("two constraints are taken")
	}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// What is not finite is null, and a message without text is the empty string.
func TestWritten(t *testing.T) {
	got, err := json.Marshal(ChatChoice{LogProbs: &ChatLogProbs{[]TokenLogProb{{Token: "a", Bytes: []int{97}, LogProb: Float(math.Inf(-1)), Top: []TopLogProb{}}}}})
	want := `{"index":0,"message":{"role":"","content":"","reasoning_content":null,"tool_calls":null},"logprobs":{"content":[{"token":"a","bytes":[97],"logprob":null,"top_logprobs":[]}]},"finish_reason":null,"matched_stop":null}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{`{}`, `{"prompt":[[1],null]}`, `{"messages":[{"content":[]}],"tool_choice":""}`, `{"prompt":[`, `null`, `{"response_format":{"type":"json_schema","json_schema":{}}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(_ *testing.T, raw []byte) {
		if c, err := ReadCompletion(raw); err == nil {
			_, _ = c.Params(c.MaxTokens)
		}
		if c, err := ReadChat(raw); err == nil {
			_, _ = c.Params(c.Limit())
		}
	})
}
