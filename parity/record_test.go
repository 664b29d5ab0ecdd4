package parity

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"furlong/parity/taps"
)

// What is written is read again, and is a side that says the same.
func TestRecordRoundTrip(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "here")
	seqs := texts(3, 2)
	seqs[0].Generated = []float32{-1, -2, -3}
	scores := []Scores{
		{LogProbs: []float32{-0.1, float32(math.Inf(-1)), -1e-45}, Top: []int32{1, 2, 3}, Experts: []Choice{{Layer: 1, Width: 2, IDs: []int32{0, 1, 2, 3}}}},
		{LogProbs: []float32{float32(math.NaN()), -2}, Index: []Choice{{Layer: 3, First: 1, Width: 1, IDs: []int32{-1, 4}}}},
	}
	set := taps.NewSet(seqs[1].Tokens())
	if err := set.Add(&taps.Tap{Layer: 0, Name: "attn_in", Shape: []int{2}, Values: make([]float32, 2*len(seqs[1].Tokens()))}); err != nil {
		t.Fatal(err)
	}
	if err := WriteRecord(dir, bytesAbout("a side"), seqs, scores, []*taps.Set{nil, set}); err != nil {
		t.Fatal(err)
	}
	r, err := OpenRecord(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if a, _ := r.About(t.Context()); a.Name != "a side" || a.Kind != "record" || a.Vocab != 272 || !strings.HasPrefix(a.Side, "dir:") {
		t.Errorf("about is %+v", a)
	}
	if !reflect.DeepEqual(r.Sequences(), seqs) {
		t.Errorf("sequences are %+v, want %+v", r.Sequences(), seqs)
	}
	// In any order, and each by its tokens.
	got, err := r.Score(t.Context(), []Sequence{seqs[1], seqs[0]}, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []Scores{scores[1], scores[0]} {
		for n, lp := range want.LogProbs {
			if math.Float32bits(got[i].LogProbs[n]) != math.Float32bits(lp) && lp == lp {
				t.Errorf("sequence %d: logprob %d is %v, want %v", i, n, got[i].LogProbs[n], lp)
			}
		}
		if !reflect.DeepEqual(got[i].Experts, want.Experts) || !reflect.DeepEqual(got[i].Index, want.Index) || !reflect.DeepEqual(got[i].Top, want.Top) {
			t.Errorf("sequence %d: %+v, want %+v", i, got[i], want)
		}
	}
	if x, err := r.Taps(t.Context(), seqs[1]); err != nil || x == nil || x.Find(0, "attn_in") == nil {
		t.Errorf("taps are %v, %v", x, err)
	}
	if x, err := r.Taps(t.Context(), seqs[0]); err != nil || x != nil {
		t.Errorf("taps of a sequence without are %v, %v", x, err)
	}
	if _, err := r.Score(t.Context(), texts(9), func(int) {}); err == nil || !strings.Contains(err.Error(), "sequence t0 is not in the record, which has 2") {
		t.Errorf("error is %v, want one that names the sequence", err)
	}
}

// A folder that is no record is refused with the place and what is wanted.
func TestHostileRecords(t *testing.T) {
	good := `{"id":"x","prompt":[1],"response":[2],"logprobs":[-1]}`
	for _, tt := range []struct {
		name, record, sequences, want string
	}{
		{"nothing", "", "", "has no sequences.jsonl"},
		{"empty", "", "\n", "line 1: is empty"},
		{"a byte order mark", "", "\ufeff" + good, "line 1: begins with a byte order mark"},
		{"no line", "", " ", "line 1:"},
		{"other format", `{"format":"furlong-parity-record-2","about":{}}`, good, `format is "furlong-parity-record-2", want "furlong-parity-record-1"`},
		{"unknown key of the record", `{"format":"furlong-parity-record-1","abut":{}}`, good, `unknown field "abut"`},
		{"unknown key of a line", "", `{"prompt":[1],"response":[2],"logprobs":[-1],"logprob":[-1]}`, `line 1: json: unknown field "logprob"`},
		{"something behind", "", good + " 1", "something behind the value"},
		{"no prompt", "", `{"response":[2],"logprobs":[-1]}`, "prompt has no token"},
		{"no response", "", `{"prompt":[2],"logprobs":[]}`, "response has no token"},
		{"too few logprobs", "", `{"prompt":[1],"response":[2,3],"logprobs":[-1]}`, "1 logprobs for 2 tokens"},
		{"too many generated", "", `{"prompt":[1],"response":[2],"logprobs":[-1],"generated":[-1,-1]}`, "2 generated logprobs for 1 tokens"},
		{"probability above 1", "", `{"prompt":[1],"response":[2],"logprobs":[0.5]}`, "logprob 0 is 0.5, want at most 0"},
		{"infinite", "", `{"prompt":[1],"response":[2],"logprobs":["+Inf"]}`, "logprob 0 is +Inf"},
		{"logprob as null", "", `{"prompt":[1],"response":[2],"logprobs":[null]}`, "want a number"},
		{"negative token", "", `{"prompt":[1],"response":[-2],"logprobs":[-1]}`, "token 1 is -2"},
		{"huge token", "", `{"prompt":[1],"response":[99999999999],"logprobs":[-1]}`, "line 1: json: cannot unmarshal number"},
		{"odd choices", "", `{"prompt":[1],"response":[2],"logprobs":[-1],"experts":[{"layer":0,"width":2,"ids":[1,2,3]}]}`, "want whole rows"},
		{"no width", "", `{"prompt":[1],"response":[2],"logprobs":[-1],"experts":[{"layer":0,"width":0,"ids":[]}]}`, "of width 0"},
		{"too many choices", "", `{"prompt":[1],"response":[2],"logprobs":[-1],"index":[{"layer":0,"first":2,"width":1,"ids":[1]}]}`, "of a sequence of 2 tokens"},
		{"top too short", "", `{"prompt":[1],"response":[2,3],"logprobs":[-1,-1],"top":[1]}`, "1 likeliest tokens"},
		{"the same twice", "", good + "\n" + good, "line 2: has the tokens of line 1"},
		{"taps outside", "", `{"prompt":[1],"response":[2],"logprobs":[-1],"taps":"../x"}`, `"../x" is no path inside the folder`},
		{"taps that are not there", "", `{"prompt":[1],"response":[2],"logprobs":[-1],"taps":"taps/x"}`, "line 1: taps:"},
		{"long id", "", `{"id":"` + strings.Repeat("x", 5000) + `","prompt":[1],"response":[2],"logprobs":[-1]}`, "id has 5000 bytes"},
		{"cut line", "", good[:20], "line 1: unexpected EOF"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{aboutFile: tt.record, sequencesFile: tt.sequences} {
				if text == "" {
					continue
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			r, err := OpenRecord(dir)
			if err == nil {
				r.Close()
				t.Fatalf("it is taken, want an error with %q", tt.want)
			}
			if !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), dir) {
				t.Errorf("error is %v, want the folder and %q in it", err, tt.want)
			}
		})
	}
}

// Links out of the folder and things that are no files are not opened.
func TestRecordStaysInside(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "sequences.jsonl")
	if err := os.WriteFile(outside, []byte(`{"prompt":[1],"response":[2],"logprobs":[-1]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, sequencesFile)); err != nil {
		t.Skip(err)
	}
	if r, err := OpenRecord(dir); err == nil {
		r.Close()
		t.Error("a link out of the folder is followed")
	}
	other := t.TempDir()
	if err := os.Mkdir(filepath.Join(other, sequencesFile), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenRecord(other); err == nil || !strings.Contains(err.Error(), "is no plain file") {
		t.Errorf("error is %v, want that it is no plain file", err)
	}
}

// The folder of a comparison holds two records, which the error says.
func TestFolderOfBothSides(t *testing.T) {
	dir := t.TempDir()
	if err := WriteRecord(filepath.Join(dir, "a"), About{}, texts(2), []Scores{{LogProbs: []float32{-1, -1}}}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenRecord(dir); err == nil || !strings.Contains(err.Error(), "add /a or /b") {
		t.Errorf("error is %v, want advice", err)
	}
}

func TestReadSequences(t *testing.T) {
	got, err := ReadSequences(strings.NewReader(`{"prompt":[1,2],"response":[3]}` + "\n" + `{"id":"b","prompt":[1],"response":[3],"logprobs":[-1]}`))
	if err != nil || len(got) != 2 || got[0].ID != "0" || got[1].ID != "b" || len(got[0].Prompt) != 2 {
		t.Errorf("sequences are %+v, %v", got, err)
	}
	for _, bad := range []string{"", `{"prompt":[1]}`, `{"prompt":[1],"response":[3],"logprobs":[-1,-2]}`, `[]`} {
		if got, err := ReadSequences(strings.NewReader(bad)); err == nil {
			t.Errorf("%q is read as %+v, want an error", bad, got)
		}
	}
}

// Whatever a line holds, it is refused or its scores are those of its sequence, and it is the same line again when written.
func FuzzRecordLines(f *testing.F) {
	for _, s := range []string{
		`{"id":"x","prompt":[1],"response":[2],"logprobs":[-1]}`, `{"prompt":[1],"response":[2,3],"logprobs":["NaN",-0],"top":[1,2],"generated":[-1,"-Inf"]}`,
		`{"prompt":[1],"response":[2],"logprobs":[-1],"experts":[{"layer":0,"width":2,"ids":[1,2]}],"index":[{"layer":1,"first":1,"width":1,"ids":[-1]}]}`, "{}", "\n\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		lines, err := readLines(bytes.NewReader(raw))
		if err != nil {
			return
		}
		for _, l := range lines {
			s := Sequence{ID: l.ID, Prompt: l.Prompt, Response: l.Response, Generated: l.Generated}
			if err := l.scores().fits(s); err != nil {
				t.Fatalf("a line is taken whose scores do not fit: %v", err)
			}
			out, err := json.Marshal(lineOf(s, l.scores(), l.Taps))
			if err != nil {
				t.Fatal(err)
			}
			again, err := readLines(bytes.NewReader(out))
			if err != nil || len(again) != 1 {
				t.Fatalf("written as %s, which reads as %v, %v", out, again, err)
			}
			if Compare(Comparing{}, []Sequence{s}, []Scores{l.scores()}, []Scores{again[0].scores()}).Gap.Max > 0 {
				t.Fatalf("%s has other logprobs than %s", out, raw)
			}
		}
	})
}
