package eval

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// read reads rows that are written as lines.
func read(t *testing.T, ks []int, lines ...string) *Result {
	t.Helper()
	r, err := ReadRows(strings.NewReader(strings.Join(lines, "\n")+"\n"), "rows.jsonl", ks, 1)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestReadRowsGivesKnownValues(t *testing.T) {
	for _, tt := range []struct {
		row  string
		want []float64
	}{
		{`{"scores":[0,1,0,0]}`, []float64{.25, .5, 1}},
		{`{"scores":[1,0,0,1,0,0,0,1]}`, []float64{.375, 9. / 14, 13. / 14, 1}},
		{`{"scores":[1.0,0.0]}`, []float64{.5, 1}},
	} {
		r := read(t, nil, tt.row)
		if len(r.Scores) != len(tt.want) {
			t.Fatalf("%s: %d scores, want %d", tt.row, len(r.Scores), len(tt.want))
		}
		for i, want := range tt.want {
			if got := r.Scores[i].Value; math.Abs(got-want) > 1e-15 || r.Figures()[fmt.Sprintf("pass@%d", 1<<i)] != got {
				t.Errorf("%s: pass@%d is %v, want %v", tt.row, 1<<i, got, want)
			}
		}
	}
}

// Thirty problems by eight samples are thirty problems, however they are laid out in the file, and in whatever order.
func TestReadRowsGroups(t *testing.T) {
	var lists, singles, halves []string
	for p := range 30 {
		var scores []string
		for i := range 8 {
			s := fmt.Sprint(b2i((p*p+i)%3 == 0))
			scores = append(scores, s)
			singles = append(singles, fmt.Sprintf(`{"id":"p%02d","score":%s}`, p, s))
		}
		lists = append(lists, fmt.Sprintf(`{"id":"p%02d","scores":[%s]}`, p, strings.Join(scores, ",")))
		for _, part := range [][]string{scores[:3], scores[3:]} {
			halves = append(halves, fmt.Sprintf(`{"note":{"x":1},"scores":[%s],"id":"p%02d"}`, strings.Join(part, ","), p))
		}
	}
	want := read(t, nil, lists...)
	if len(want.Problems) != 30 || want.Samples != 8 {
		t.Fatalf("%d problems by %d, want 30 by 8", len(want.Problems), want.Samples)
	}
	var turned []string
	for i := range singles {
		turned = append(turned, singles[i*7%len(singles)])
	}
	for name, rows := range map[string][]string{"singles": singles, "halves": halves, "singles in another order": turned} {
		if got := read(t, nil, rows...); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestReadRowsCountsWhatIsGiven(t *testing.T) {
	r := read(t, []int{1, 2},
		`{"id":"a","scores":[1,0,null],"answers":["34",35,null],"lengths":[10,20,30],"truncated":[false,true,true]}`,
		`{"id":7,"scores":[0,0,0],"answers":["x","x",null],"lengths":[1,2,3],"truncated":[false,false,false]}`,
		`{"id":"c","scores":[null,null,null],"answers":["x","x","y"],"lengths":[4,5,6],"truncated":[false,false,false]}`)
	if r.Invalid != 4 || !reflect.DeepEqual(r.Unjudged, []string{"c"}) || r.FirstInvalid != "problem a, line 1: score is null" {
		t.Errorf("invalid: %d, %v, %q", r.Invalid, r.Unjudged, r.FirstInvalid)
	}
	if s := r.Scores; len(s) != 2 || s[0].Value != .25 || s[0].Problems != 2 || s[1].Value != .5 {
		t.Errorf("scores are %+v, want 1/4 and 1/2 of the two problems that were judged", s)
	}
	if m := r.Majority; len(m) != 2 || m[0].Value != .25 || m[1].Value != .25 {
		t.Errorf("majority is %+v, want 1/4 twice: a tie is shared, a single wrong answer wins", m)
	}
	if *r.Truncated != 2./9 || *r.MeanTokens != 9 || *r.Lengths != (Lengths{9, 5, 1, 30}) || *r.PassAt1Whole != 1./4 || r.Solved != 1 {
		t.Errorf("truncated %v, lengths %+v, whole %v, solved %d", *r.Truncated, *r.Lengths, *r.PassAt1Whole, r.Solved)
	}
	if bare := read(t, nil, `{"scores":[1,0]}`); bare.Truncated != nil || bare.Lengths != nil || bare.Majority != nil || bare.NoMajority == "" || bare.PassAt1Whole != nil {
		t.Errorf("nothing but scores is given, and the result is %+v", bare)
	}
}

// A byte order mark, Windows line ends and blank lines change nothing.
func TestReadRowsOfWindows(t *testing.T) {
	for name, text := range map[string]string{
		"mark":  "\xef\xbb\xbf" + `{"id":"a","scores":[1,0]}` + "\n" + `{"id":"b","scores":[0,0]}`,
		"CRLF":  `{"id":"a","scores":[1,0]}` + "\r\n" + `{"id":"b","scores":[0,0]}` + "\r\n",
		"blank": "\n" + `{"id":"a","scores":[1,0]}` + "\n  \r\n" + `{"id":"b","scores":[0,0]}` + "\n\n",
	} {
		r, err := ReadRows(strings.NewReader(text), "f.jsonl", nil, 1)
		if err != nil || len(r.Problems) != 2 || r.Problems[0].C != 1 || r.Problems[1].C != 0 {
			t.Errorf("%s: %+v, %v, want two problems, one of them half right", name, r, err)
		}
	}
	if _, err := ReadRows(strings.NewReader("\xef\xbb\xbf\r\n"), "f.jsonl", nil, 1); err == nil || !strings.Contains(err.Error(), "holds no rows") {
		t.Errorf("nothing but a mark: error is %v", err)
	}
}

func TestReadRowsRefuses(t *testing.T) {
	ok := `{"id":"a","scores":[1,0]}`
	for _, tt := range []struct {
		name, text, want string
		ks               []int
	}{
		{"nothing", "", "rows.jsonl: holds no rows", nil},
		{"two", ok + "\n" + `{"id":"b","scores":[1,2]}`, "rows.jsonl: line 2: scores[1] is 2, want 0 or 1", nil},
		{"half", `{"scores":[0.5]}`, "line 1: scores[0] is 0.5, want 0 or 1", nil},
		{"minus one", `{"id":"a","score":-1}`, "line 1: score is -1, want 0 or 1", nil},
		{"true", `{"id":"a","score":true}`, "score is true, want 0 or 1", nil},
		{"text", `{"scores":["1"]}`, `scores[0] is "1", want 0 or 1`, nil},
		{"nan", `{"scores":[NaN]}`, "line 1: is no JSON: invalid character 'N'", nil},
		{"nan as text", `{"scores":["NaN"]}`, `scores[0] is "NaN", want 0 or 1`, nil},
		{"torn", ok + "\n" + `{"scores":[1,`, "line 2: is no JSON: unexpected end", nil},
		{"a list", `[1,0]`, "line 1: is no JSON object: [1,0]", nil},
		{"two objects", ok + ok, "line 1: is no JSON", nil},
		{"no scores", `{"id":"a"}`, "line 1: has neither score nor scores", nil},
		{"empty", `{"scores":[]}`, "line 1: scores is empty", nil},
		{"null", `{"scores":null}`, "line 1: scores is null, want a list", nil},
		{"no list", `{"scores":1}`, "line 1: scores is 1, want a list", nil},
		{"other case", `{"Scores":[1]}`, "line 1: has neither score nor scores", nil},
		{"both", `{"id":"a","score":1,"scores":[1]}`, "line 1: has both score and scores", nil},
		{"no id", `{"score":1}`, "line 1: has a score and no id", nil},
		{"empty id", `{"id":"","score":1}`, `line 1: id is "", want a text or a number`, nil},
		{"id is a list", `{"id":[1],"score":1}`, "line 1: id is [1], want a text or a number", nil},
		{"twice", `{"scores":[1],"scores":[0]}`, `line 1: key "scores" is there twice`, nil},
		{"mixed n", ok + "\n" + `{"id":"b","scores":[1,0,0]}`, "line 2: problem b has 3 scores in all, want 2 as problem a (line 1)", nil},
		{"mixed n of singles", `{"id":"a","score":1}` + "\n" + `{"id":"b","score":1}` + "\n" + `{"id":"b","score":1}`, "line 3: problem b has 2 scores in all, want 1 as problem a", nil},
		{"some without ids", ok + "\n" + `{"scores":[1,0]}`, "line 2: ids are given in line 1 and not in line 2", nil},
		{"some with answers", ok + "\n" + `{"id":"b","scores":[1,0],"answers":["1","2"]}`, "answers are given in line 2 and not in line 1", nil},
		{"fewer answers", `{"scores":[1,0],"answers":["1"]}`, "line 1: has 1 answers and 2 scores", nil},
		{"an answer is a list", `{"scores":[1],"answers":[[1]]}`, "line 1: answers[0] is [1], want a text or a number", nil},
		{"negative length", `{"scores":[1],"lengths":[-1]}`, "line 1: lengths[0] is -1", nil},
		{"no length", `{"scores":[1],"lengths":[null]}`, "line 1: lengths is [null], want a list of whole numbers", nil},
		{"truncated is a number", `{"scores":[1],"truncated":[1]}`, "line 1: truncated is [1], want a list of true and false", nil},
		{"k beyond n", ok, "rows.jsonl: pass@4: k is 4, want 1 to 2, the samples of problem a", []int{1, 4}},
		{"nothing judged", `{"scores":[null,null]}`, "none of 2 samples could be judged", nil},
		{"deep", `{"scores":` + strings.Repeat("[", 20_000), "line 1: is no JSON", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := ReadRows(strings.NewReader(tt.text), "rows.jsonl", tt.ks, 1)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("ReadRows = %v, %v, want an error with %q", r, err, tt.want)
			}
		})
	}
}

// Whatever a file holds, it is read or refused; what is read makes sense.
func FuzzReadRows(f *testing.F) {
	for _, s := range []string{
		`{"scores":[1,0]}`, `{"id":"a","score":1}` + "\n" + `{"id":"a","score":null}`, "\xef\xbb\xbf{}", "{}\r\n",
		`{"id":1,"scores":[1,0],"answers":["a",null],"lengths":[1,2],"truncated":[true,false]}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Count(text, ",") > 200 {
			t.Skip("takes long")
		}
		r, err := ReadRows(strings.NewReader(text), "f", nil, 1)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f: ") {
				t.Errorf("error does not name the file: %v", err)
			}
			return
		}
		for _, s := range append(r.Scores, r.Majority...) {
			if !(s.Low >= 0 && s.Low <= s.High && s.High <= 1) || s.Value < 0 || s.Value > 1+1e-12 {
				t.Errorf("score is %+v", s)
			}
		}
	})
}

// A report is read back as it was written, one set or several.
func TestReportsComeBack(t *testing.T) {
	a, b := read(t, nil, `{"id":"x","scores":[1,0]}`), read(t, nil, `{"id":"x","scores":[1,1],"answers":["1","1"]}`)
	b.Set = "other"
	for _, results := range [][]*Result{{a}, {a, b}} {
		path := filepath.Join(t.TempDir(), "report.json")
		writeJSON(t, path, NewReport(results))
		got, err := ReadReport(path)
		if err != nil || !reflect.DeepEqual(got.Results(), results) {
			t.Errorf("read back: %v, %v, want %v", got, err, results)
		}
	}
}

func TestReadReportRefuses(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"rows":      {`{"id":"x","scores":[1,0]}`, "is no report"},
		"nothing":   {``, "is no report"},
		"two":       {`{"set":"a","samples_per_prompt":1,"problems":[{"id":"x","n":1}]} {}`, "is no report"},
		"null":      {`{"sets":[null]}`, "is no report"},
		"empty":     {`{"set":"a"}`, "no problems"},
		"one twice": {`{"sets":[{"set":"a","samples_per_prompt":1,"problems":[{"id":"x","n":1}]},{"set":"a"}]}`, "is no report"},
		"too many":  {`{"set":"a","samples_per_prompt":1,"problems":[{"id":"x","n":1,"c":2}]}`, "problem x: 2 of 1 samples are right"},
		"negative":  {`{"set":"a","samples_per_prompt":1,"problems":[{"id":"x","n":2,"invalid":-1}]}`, "problem x"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "report.json")
			if err := os.WriteFile(path, []byte(tt.text), 0o644); err != nil {
				t.Fatal(err)
			}
			if r, err := ReadReport(path); err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("ReadReport = %v, %v, want an error with %q", r, err, tt.want)
			}
		})
	}
}

func ExampleReadRows() {
	rows := `{"id":"a","scores":[1,0,0,0]}
{"id":"b","scores":[1,1,0,1]}
`
	r, err := ReadRows(strings.NewReader(rows), "rows.jsonl", []int{1, 2, 4}, 1234)
	fmt.Println(r, err)
	_, err = ReadRows(strings.NewReader(rows), "rows.jsonl", []int{8}, 1234)
	fmt.Println(err)
	// Output:
	// results: 2 problems x 4, pass@1 0.500 [0.250, 0.750], pass@2 0.750 [0.500, 1.000], pass@4 1.000 [1.000, 1.000] <nil>
	// rows.jsonl: pass@8: k is 8, want 1 to 4, the samples of problem a
}
