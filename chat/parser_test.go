package chat

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"furlong/tokenizer"
)

func equal(a, b Answer) bool {
	return a.Reasoning == b.Reasoning && a.Content == b.Content && slices.Equal(a.Calls, b.Calls)
}

// piecewise parses text in pieces of n bytes.
func piecewise(text string, s Start, n int) (Answer, error) {
	var all Answer
	add := func(d Delta) {
		all.Reasoning += d.Reasoning
		all.Content += d.Content
		all.Calls = append(all.Calls, d.Calls...)
	}
	p := NewParser(s)
	for len(text) > 0 {
		k := min(n, len(text))
		add(p.Next(text[:k]))
		text = text[k:]
	}
	d, err := p.End()
	add(d)
	return all, err
}

func TestParse(t *testing.T) {
	const invoke = "<@invoke name=\"f\">\n<@parameter name=\"a\" string=\"true\">x\"y\n</@parameter>\n<@parameter name=\"b\" string=\"false\">[1,2]</@parameter>\n</@invoke>\n"
	call := Call{Name: "f", Arguments: `{"a": "x\"y\n", "b": [1,2]}`}
	now := Call{Name: "now", Arguments: "{}"}
	for _, tt := range []struct {
		name, text string
		start      Start
		want       Answer
		err        string
	}{
		{"thoughts and content", "Hm.</think>Hello", Start{Mode: Reasoning}, Answer{Reasoning: "Hm.", Content: "Hello"}, ""},
		{"endless thoughts", "Hm. <b </thin", Start{Mode: Reasoning}, Answer{Reasoning: "Hm. <b </thin"}, ""},
		{"a second end is content", "a</think>b</think>c", Start{Mode: Reasoning}, Answer{Reasoning: "a", Content: "b</think>c"}, ""},
		{"no thoughts", "</think>", Start{Mode: Reasoning}, Answer{}, ""},
		{"joined", "Hm.</think>Hello", Start{Mode: Reasoning, Joined: true}, Answer{Content: "Hm.</think>Hello"}, ""},
		{"content", "a</think>b", Start{Mode: Content}, Answer{Content: "a</think>b"}, ""},
		{"verbatim", "a</think>\n\n<@tool_calls>\n", Start{}, Answer{Content: "a</think>\n\n<@tool_calls>\n"}, ""},
		{"a call", "Wait.\n\n<@tool_calls>\n" + invoke + "</@tool_calls>", Start{Mode: Content}, Answer{Content: "Wait.", Calls: []Call{call}}, ""},
		{
			"thoughts and two calls", "T</think>\n\n<@tool_calls>\n" + invoke + "<@invoke name=\"now\">\n\n</@invoke>\n</@tool_calls>",
			Start{Mode: Reasoning},
			Answer{Reasoning: "T", Calls: []Call{call, now}},
			"",
		},
		{"calls in thoughts are thoughts", "<@tool_calls>" + invoke, Start{Mode: Reasoning}, Answer{Reasoning: "<@tool_calls>" + invoke}, ""},
		{"the older tag", "<@function_calls>" + invoke + "</@function_calls>!", Start{Mode: Content}, Answer{Content: "!", Calls: []Call{call}}, ""},
		{"line ends that open nothing", "a\n\n<@tool\n\n\n", Start{Mode: Content}, Answer{Content: "a\n\n<@tool\n\n\n"}, ""},
		{"forced", invoke + "</@tool_calls>", Start{Mode: Content, Prefix: callsOpening}, Answer{Calls: []Call{call}}, ""},
		{"forced by name", "</@invoke>\n</@tool_calls>", Start{Mode: Content, Prefix: callsOpening + invokeOpening + "now\">\n"}, Answer{Calls: []Call{now}}, ""},
		{"cut off", "a\n\n<@tool_calls>\n<@invoke name=\"f\">\n<@para", Start{Mode: Content}, Answer{Content: "a\n\n<@tool_calls>\n<@invoke name=\"f\">\n<@para"}, "the answer ends before they do"},
		{"cut off after a call", "a\n\n<@tool_calls>\n" + invoke, Start{Mode: Content}, Answer{Content: "a", Calls: []Call{call}}, "the answer ends before they do"},
		{"prose in a block", "a\n\n<@tool_calls>\nWell", Start{Mode: Content}, Answer{Content: "a\n\n<@tool_calls>\nWell"}, "block goes on with"},
		{"prose after a call", "<@tool_calls>" + invoke + "Well, well", Start{Mode: Content}, Answer{Content: "\nWell, well", Calls: []Call{call}}, "block goes on with"},
		{"no name", "<@tool_calls><@invoke name=\"\"></@invoke>.", Start{Mode: Content}, Answer{Content: "<@tool_calls><@invoke name=\"\"></@invoke>."}, "a call has no name"},
		{"no JSON", bad("<@parameter name=\"a\" string=\"false\">x</@parameter>"), Start{Mode: Content}, Answer{Content: bad("<@parameter name=\"a\" string=\"false\">x</@parameter>")}, `argument "a" is "x", want JSON`},
		{"no kind", bad("<@parameter name=\"a\" string=\"no\">x</@parameter>"), Start{Mode: Content}, Answer{Content: bad("<@parameter name=\"a\" string=\"no\">x</@parameter>")}, `has string="no"`},
		{"no parameter", bad("city=Paris"), Start{Mode: Content}, Answer{Content: bad("city=Paris")}, "want a parameter element"},
		{"no end", bad("<@parameter name=\"a\" string=\"true\">x"), Start{Mode: Content}, Answer{Content: bad("<@parameter name=\"a\" string=\"true\">x")}, "is not complete"},
		{
			"twice", bad(strings.Repeat("<@parameter name=\"a\" string=\"true\">x</@parameter>", 2)),
			Start{Mode: Content},
			Answer{Content: bad(strings.Repeat("<@parameter name=\"a\" string=\"true\">x</@parameter>", 2))},
			`argument "a" is given twice`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := strings.ReplaceAll(tt.text, "@", dsml)
			want := tt.want
			want.Content, want.Reasoning = strings.ReplaceAll(want.Content, "@", dsml), strings.ReplaceAll(want.Reasoning, "@", dsml)
			for n := 1; n <= len(text)+1; n++ {
				got, err := piecewise(text, tt.start, n)
				if !equal(got, want) {
					t.Fatalf("in pieces of %d: %+v, want %+v", n, got, want)
				}
				if tt.err == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("in pieces of %d: error %v, want %q", n, err, tt.err)
				}
			}
			if got, err := Parse(text, tt.start); !equal(got, want) || (err == nil) != (tt.err == "") {
				t.Errorf("Parse = %+v, %v, want %+v", got, err, want)
			}
		})
	}
}

// bad is a call with something wrong inside.
func bad(inside string) string {
	return "<@tool_calls>\n<@invoke name=\"f\">\n" + inside + "</@invoke>\n</@tool_calls>"
}

// TestDeltasComeEarly: what is certain is not held back.
func TestDeltasComeEarly(t *testing.T) {
	p := NewParser(Start{Mode: Reasoning})
	for _, step := range []struct {
		text string
		want Delta
	}{
		{"I th", Delta{Reasoning: "I th"}},
		{"ink <", Delta{Reasoning: "ink "}},
		{"/th", Delta{}},
		{"e", Delta{Reasoning: "</the"}},
		{"</think>4", Delta{Content: "4"}},
		{"2\n", Delta{Content: "2"}},
		{"\n", Delta{}},
		{"x", Delta{Content: "\n\nx"}},
		{"\n\n<" + dsml + "tool_calls>", Delta{}},
		{"<" + dsml + "invoke name=\"f\">", Delta{}},
		{"</" + dsml + "invoke>", Delta{Calls: []Call{{Name: "f", Arguments: "{}"}}}},
		{"</" + dsml + "tool_calls>", Delta{}},
	} {
		if got := p.Next(step.text); !equal(Answer(got), Answer(step.want)) {
			t.Errorf("Next(%q) = %+v, want %+v", step.text, got, step.want)
		}
	}
	if d, err := p.End(); err != nil || !equal(Answer(d), Answer{}) {
		t.Errorf("End = %+v, %v, want nothing", d, err)
	}
}

// TestRoundTrip renders what was parsed: the assistant's turn is what it was.
func TestRoundTrip(t *testing.T) {
	want := short.Replace("Hm.</think>Wait.\n\n<@tool_calls>\n<@invoke name=\"f\">\n<@parameter name=\"a\" string=\"true\">x \"y\" <z>\n</@parameter>\n" +
		"<@parameter name=\"b\" string=\"false\">{\"c\": 1.50}</@parameter>\n</@invoke>\n<@invoke name=\"now\">\n\n</@invoke>\n</@tool_calls>")
	a, err := Parse(want, Start{Mode: Reasoning})
	if err != nil {
		t.Fatal(err)
	}
	p, err := template().Render(&Conversation{Messages: []Message{
		{Role: "user", Content: "Q"},
		{Role: "assistant", Reasoning: a.Reasoning, Content: a.Content, Calls: a.Calls},
		{Role: "user", Content: "Q"},
	}, Options: Options{Thinking: true, KeepThinking: true}})
	if err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(p.Text(), thinkStart)
	if got, _, _ = strings.Cut(got, eos); got != want {
		t.Errorf("rendered again it is\n%s\nwant\n%s", got, want)
	}
}

func FuzzParser(f *testing.F) {
	for _, s := range []string{
		"Hm.</think>Hello", "a\n\n<@tool_calls>\n<@invoke name=\"f\">\n</@invoke>\n</@tool_calls>x", "</thi", "\n\n<", "<@function_calls>",
		bad("<@parameter name=\"a\" string=\"true\">x</@parameter>"), bad("<@parameter name=\"a\" string=\"false\">1</@parameter>"),
	} {
		f.Add(strings.ReplaceAll(s, "@", dsml), uint8(1), uint8(3))
	}
	f.Fuzz(func(t *testing.T, text string, mode, size uint8) {
		s := Start{Mode: Mode(mode % 3), Joined: mode&8 != 0}
		if mode&16 != 0 && s.Mode == Content {
			s.Prefix = callsOpening
		}
		want, wantErr := Parse(text, s)
		got, err := piecewise(text, s, int(size)+1)
		if !equal(got, want) || (err == nil) != (wantErr == nil) {
			t.Fatalf("%q in pieces of %d: %+v, %v, want %+v, %v", text, int(size)+1, got, err, want, wantErr)
		}
		if len(want.Calls) == 0 && s.Prefix == "" && err == nil && !strings.Contains(text, dsml) {
			end := ""
			if s.Mode == Reasoning && !s.Joined && strings.Contains(text, thinkEnd) {
				end = thinkEnd
			}
			if all := want.Reasoning + end + want.Content; all != text {
				t.Fatalf("%q became %q", text, all)
			}
		}
		for _, c := range want.Calls {
			if _, err := argumentsOf(c.Arguments); err != nil && utf8.ValidString(text) {
				t.Fatalf("arguments %q: %v", c.Arguments, err)
			}
		}
	})
}

func Example() {
	tok, err := tokenizer.Open("../tokenizer/testdata/tiny")
	if err != nil {
		fmt.Println(err)
		return
	}
	template, err := For(tok, "../tokenizer/testdata/tiny")
	if err != nil {
		fmt.Println(err)
		return
	}
	prompt, err := template.Render(&Conversation{Messages: []Message{{Role: "user", Content: "What is 7*6?"}}, Options: template.Defaults()})
	if err != nil {
		fmt.Println(err)
		return
	}
	ids, err := prompt.Encode(tok)
	fmt.Println(prompt.Text(), len(ids), err)

	p := NewParser(prompt.Start)
	for _, text := range []string{"Seven times six ", "is 42.</thi", "nk>4", "2"} {
		d := p.Next(text)
		fmt.Printf("%q %q\n", d.Reasoning, d.Content)
	}
	// Output:
	// <｜begin▁of▁sentence｜><｜User｜>What is 7*6?<｜Assistant｜><think> 12 <nil>
	// "Seven times six " ""
	// "is 42." ""
	// "" "4"
	// "" "2"
}
