package sheet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"furlong/reward"
)

// graded returns the rows of a text as they come out.
func graded(t *testing.T, text string, o Options) (out []string, all []*Row, s Summary) {
	t.Helper()
	if o.Mode == "" {
		o.Mode = "furlong"
	}
	o.Name = "f.jsonl"
	s, err := Grade(t.Context(), strings.NewReader(text), o, func(r *Row) error {
		line, err := json.Marshal(r)
		out, all = append(out, string(line)), append(all, r)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out, all, s
}

func TestRows(t *testing.T) {
	for _, tt := range []struct {
		name, row, want string
		fault           bool
	}{
		{"equal", `{"gold":"1/2","answer":"\\boxed{0.5}"}`, `{"gold":"1/2","answer":"\\boxed{0.5}","equal":true,"why":"box: 0.5 equals 1/2 as rationals"}`, false},
		{"not equal", `{"gold":"1","answer":"Answer: 2"}`, `"equal":false,"why":"Answer: line: 2 is not 1: the values differ"}`, false},
		{"other keys stay, in order", `{"b":{"y":1,"x":2},"gold":"1","a":[1.50],"answer":"x"}`, `{"b":{"y":1,"x":2},"gold":"1","a":[1.50],"answer":"x","equal":false`, false},
		{"old verdicts go", `{"equal":1,"gold":"1","answer":"\\boxed{1}","why":"?"}`, `{"gold":"1","answer":"\\boxed{1}","equal":true,"why":"box`, false},
		{"a number", `{"gold":12.50,"answer":"\\boxed{12.5}"}`, `"equal":true`, false},
		{"alternatives", `{"gold":["1","2"],"answer":"\\boxed{2}"}`, `"equal":true`, false},
		{"an answer that is a number", `{"gold":1,"answer":1}`, `"equal":false,"why":"no answer`, false},
		{"CRLF", "{\"gold\":\"1\",\"answer\":\"\\\\boxed{1}\"}\r", `"equal":true`, false},
		{"blanks around", "  {\"gold\":\"1\",\"answer\":\"\\\\boxed{1}\"}\t", `"equal":true`, false},
		{"gold that cannot be judged", `{"gold":"","answer":"\\boxed{1}"}`, `"equal":null,"why":"label is \"\", want an answer"}`, false},
		{"gold of a wrong kind", `{"gold":true,"answer":"x"}`, `"equal":null,"why":"gold is true, want`, false},
		{"gold is null", `{"gold":null,"answer":"x"}`, `"equal":null,"why":"gold is missing`, false},
		{"no gold", `{"answer":"x"}`, `{"answer":"x","equal":null,"why":"f.jsonl:1: row has no gold, want the keys gold and answer"}`, true},
		{"no answer", `{"gold":"x"}`, `f.jsonl:1: row has no answer`, true},
		{"answer is null", `{"gold":"x","answer":null}`, `f.jsonl:1: row has no answer`, true},
		{"answer is a list", `{"gold":"x","answer":[1]}`, `f.jsonl:1: answer is [1], want a text`, true},
		{"a key twice", `{"gold":"1","gold":"2","answer":"x"}`, `f.jsonl:1: key \"gold\" is there twice`, true},
		{"a key twice within", `{"gold":{"nums":[1],"target":1,"target":2},"answer":"x"}`, `f.jsonl:1: key \"gold.target\" is there twice`, true},
		{"no JSON", `gold`, `f.jsonl:1: row is no JSON: `, true},
		{"cut off", `{"gold":"1"`, `f.jsonl:1: row is no JSON: it ends in the middle`, true},
		{"a list", `[1]`, `f.jsonl:1: row begins with [1], want a JSON object`, true},
		{"two objects", `{"gold":"1","answer":"x"}{}`, `f.jsonl:1: row has more behind its object`, true},
		{"no UTF-8", "{\"gold\":\"\xff\",\"answer\":\"x\"}", `f.jsonl:1: row is not UTF-8: byte 10`, true},
		{"a brace bomb", `{"gold":"1","answer":"` + strings.Repeat("{", 40_000) + `"}`, `"equal":null,"why":"40000 braces within each other`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, all, s := graded(t, tt.row+"\n", Options{})
			if len(out) != 1 || !strings.Contains(out[0], tt.want) || (all[0].Fault != nil) != tt.fault || (s.Faults == 1) != tt.fault {
				t.Errorf("%.300q, %+v, want %s", out, s, tt.want)
			}
			if tt.fault && all[0].Fault.Error() != all[0].Why {
				t.Errorf("fault is %v, why %s", all[0].Fault, all[0].Why)
			}
		})
	}
}

// Rows come out in their order, blank lines and all, however many there are.
func TestOrder(t *testing.T) {
	var text strings.Builder
	text.WriteString("\ufeff")
	for i := range 700 {
		fmt.Fprintf(&text, "{\"i\":%d,\"gold\":\"%d\",\"answer\":\"\\\\boxed{%d}\"}\n\n", i, i, i%2*i)
	}
	out, all, s := graded(t, strings.TrimSuffix(text.String(), "\n\n"), Options{})
	for i, line := range out {
		if !strings.HasPrefix(line, fmt.Sprintf(`{"i":%d,`, i)) || all[i].Line != 2*i+1 || *all[i].Equal != (i%2 == 1 || i == 0) {
			t.Fatalf("row %d of line %d is %s", i, all[i].Line, line)
		}
	}
	if want := (Summary{Rows: 700, Equal: 351, Unequal: 349}); s != want {
		t.Errorf("summary is %+v, want %+v", s, want)
	}
	if s.String() != "700 rows: 351 equal, 349 not equal, 0 not judged" {
		t.Errorf("summary is %s", s)
	}
}

func TestModes(t *testing.T) {
	for _, tt := range []struct {
		mode, row string
		bare      bool
		want      string
	}{
		{"math", `{"gold":"34","answer":"Answer: 34"}`, false, `"equal":false`},
		{"dapo", `{"gold":"34","answer":"Answer: 34"}`, false, `"equal":true`},
		{"countdown", `{"gold":24,"nums":[4,6],"answer":"<answer>4*6</answer>"}`, false, `"equal":true`},
		{"countdown", `{"gold":"24","metadata":{"nums":[4,6]},"answer":"<answer>4*6</answer>"}`, false, `"equal":true`},
		{"countdown", `{"gold":24,"metadata":{"nums":[4,6]},"nums":[24],"answer":"<answer>24</answer>"}`, false, `"equal":false`},
		{"countdown", `{"gold":24,"nums":"4 6","answer":"<answer>4*6</answer>"}`, false, `"equal":null`},
		{"furlong", `{"gold":24,"nums":[4,6],"answer":"\\boxed{24}"}`, false, `"equal":true`},
		{"math-verify", `{"gold":"34","answer":"17*2"}`, false, `"equal":true`},
		{"gsm8k", `{"gold":"34","answer":"#### 34"}`, false, `"equal":true`},
		{"exact", `{"gold":"34","answer":"34"}`, false, `"equal":true`},
		{"countdown", `{"gold":{"nums":[1,2,3],"target":9},"answer":"<answer>(1+2)*3</answer>"}`, false, `"equal":true`},
		{"countdown", `{"gold":9,"nums":[1,2,3],"answer":"<answer>(1+2)*3</answer>"}`, false, `"equal":true`},
		{"countdown", `{"gold":9,"answer":"<answer>(1+2)*3</answer>"}`, false, `"equal":null`},
		{"furlong", `{"gold":"34","answer":"34"}`, false, `"equal":false`},
		{"furlong", `{"gold":"34","answer":"34"}`, true, `"equal":true`},
		{"deepscaler", `{"gold":"34","answer":"34"}`, true, `"equal":true`},
		{"dapo", `{"gold":"34","answer":"34"}`, true, `"equal":true`},
		{"exact", `{"gold":"34","answer":"34"}`, true, `"equal":true`},
	} {
		if out, _, _ := graded(t, tt.row, Options{Mode: tt.mode, Bare: tt.bare}); !strings.Contains(out[0], tt.want) {
			t.Errorf("%s: %s, want %s", tt.mode, out[0], tt.want)
		}
	}
	out, _, _ := graded(t, `{"gold":"34","answer":"\\boxed{17*2}"}`, Options{Rules: reward.Rules{Unevaluated: true}})
	if !strings.Contains(out[0], `"equal":true`) {
		t.Errorf("with rules: %s", out[0])
	}
}

func TestLongRows(t *testing.T) {
	long := `{"gold":"1","answer":"` + strings.Repeat("9", longestRow) + `"}`
	out, all, s := graded(t, long+"\n"+`{"gold":"1","answer":"\\boxed{1}"}`, Options{})
	if len(out) != 2 || all[0].Fault == nil || all[0].Why != "f.jsonl:1: row is longer than 16 MiB, want shorter ones" || all[1].Equal == nil || s.Faults != 1 {
		t.Errorf("%+v: %s", s, all[0].Why)
	}
}

func TestGradeFails(t *testing.T) {
	none := func(*Row) error { return nil }
	if _, err := Grade(t.Context(), strings.NewReader(""), Options{Mode: "maths"}, none); err == nil || !strings.Contains(err.Error(), `the nearest is "math"`) {
		t.Errorf("unknown mode: %v", err)
	}
	row := `{"gold":"1","answer":"x"}`
	full := errors.New("disk is full")
	if _, err := Grade(t.Context(), strings.NewReader(row), Options{Mode: "math"}, func(*Row) error { return full }); !errors.Is(err, full) {
		t.Errorf("Grade = %v, want %v", err, full)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Grade(ctx, strings.NewReader(row), Options{Mode: "math"}, none); !errors.Is(err, context.Canceled) {
		t.Errorf("Grade = %v, want context.Canceled", err)
	}
}

func FuzzRows(f *testing.F) {
	f.Add(`{"gold":"1/2","answer":"\\boxed{0.5}","x":[1,{"y":null}]}`)
	f.Add("{\"gold\":[\"1\"],\"answer\":\"x\"}\r\n\r\n[1]\n\"")
	f.Fuzz(func(t *testing.T, text string) {
		out, all, s := graded(t, text, Options{})
		if len(out) != s.Rows || s.Rows != s.Equal+s.Unequal+s.Unjudged {
			t.Fatalf("%d rows, %+v", len(out), s)
		}
		for i, line := range out {
			var row struct {
				Equal *bool
				Why   string
			}
			if err := json.Unmarshal([]byte(line), &row); err != nil || (row.Equal == nil) != (all[i].Equal == nil) || row.Why == "" {
				t.Fatalf("%q: %v", line, err)
			}
		}
	})
}
