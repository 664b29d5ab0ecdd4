package tokenizer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/golden.jsonl anew, by the library")

// golden is one line of testdata/golden.jsonl: a text and the library's ids for testdata/tiny.
type golden struct {
	Text           []byte
	Special, Plain []int32
}

// TestGolden holds this package against what the library answered, on a small vocabulary of our own.
func TestGolden(t *testing.T) {
	tok := open(t, "testdata/tiny")
	if *update {
		writeGolden(t, tok)
	}
	lines := readGolden(t)
	if len(lines) < 400 {
		t.Fatalf("%d lines, want 400", len(lines))
	}
	for _, g := range lines {
		text := string(g.Text)
		if got := tok.Encode(text); !slices.Equal(got, g.Plain) {
			t.Errorf("Encode(%.200q) = %v, want %v", text, got, g.Plain)
		}
		got := tok.EncodeSpecial(text)
		if !slices.Equal(got, g.Special) {
			t.Errorf("EncodeSpecial(%.200q) = %v, want %v", text, got, g.Special)
		}
		if back := DecodeSpecial(tok, got); back != Valid(text) {
			t.Errorf("DecodeSpecial of %.200q = %.200q", text, back)
		}
	}
}

func readGolden(t *testing.T) (lines []golden) {
	t.Helper()
	raw, err := os.ReadFile("testdata/golden.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(raw) {
		var g golden
		if err := json.Unmarshal(line, &g); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, g)
	}
	return lines
}

func writeGolden(t *testing.T, tok *BPE) {
	t.Helper()
	texts := varied(400, spellingsOf(tok))
	f, err := os.Create("testdata/golden.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	for i, a := range ask(t, python(t, "tokenizers"), "testdata/tiny", texts) {
		line, err := json.Marshal(golden{[]byte(texts[i]), a.Special, a.Plain})
		if err != nil {
			t.Fatal(err)
		}
		w.Write(append(line, '\n'))
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
