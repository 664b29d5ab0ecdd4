package transformers

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"testing"

	"furlong/checkpoint"
	"furlong/checkpoint/safetensors"
	"furlong/tensor"
)

// fakeMode names what this test binary does in place of its tests when it is started as an interpreter.
const fakeMode = "FURLONG_FAKE_SIDECAR"

func TestMain(m *testing.M) {
	if mode := os.Getenv(fakeMode); mode != "" {
		os.Exit(fake(mode))
	}
	os.Exit(m.Run())
}

// fake is a side-car without a library: logprob of a token is minus that token. It misbehaves as mode says.
func fake(mode string) int {
	in := bufio.NewReader(os.Stdin)
	n, err := strconv.Atoi(os.Args[len(os.Args)-1])
	if err != nil {
		return 64
	}
	if _, err := io.CopyN(io.Discard, in, int64(n)); err != nil {
		return 65
	}
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return 0
		}
		var q question
		if err := json.Unmarshal(line, &q); err != nil {
			return 66
		}
		if q.Op == "quit" {
			return map[string]int{"sour": 4}[mode]
		}
		if code := fakeAnswer(mode, q, in); code != 0 {
			return code
		}
	}
}

func fakeAnswer(mode string, q question, in io.Reader) int {
	if q.Op == "hello" && mode != "early" && mode != "missing" && mode != "silent" {
		name := q.Dtype
		if mode == "other dtype" {
			name = "float16"
		}
		say(map[string]any{"dtype": name, "vocab": 97, "layers": 6, "max_positions": 256})
		return 0
	}
	switch mode {
	case "early", "dies":
		fmt.Fprintln(os.Stderr, "boom")
		return 3
	case "silent":
		os.Exit(0)
	case "missing":
		say(map[string]any{"error": "missing torch", "missing": []string{"torch", "safetensors"}})
	case "hangs":
		fmt.Fprintln(os.Stderr, "asked")
		_, _ = io.Copy(io.Discard, in)
	case "deaf":
		fmt.Fprintln(os.Stderr, "asked")
		never := make(chan os.Signal, 1)
		signal.Notify(never, os.Interrupt)
		<-never
	case "long":
		for {
			if _, err := os.Stdout.WriteString("[[[[[[[[[[[[[[[[[[[[[[[["); err != nil {
				return 5
			}
		}
	case "nonsense":
		fmt.Println("Loading weights: 100%")
	case "refuses":
		say(map[string]any{"error": "sequence 0 is empty"})
	case "few":
		say(map[string]any{"scores": []Scores{}})
	case "short":
		say(map[string]any{"scores": []Scores{{LogProbs: []float64{0}}}})
	default:
		return wellBehaved(q)
	}
	return 0
}

func wellBehaved(q question) int {
	if q.Op == "taps" {
		x := tensor.Of([]float32{1, 2, 3}, 3, 1)
		w, err := safetensors.Create(q.Path, []checkpoint.Entry{{Name: "embed", Info: checkpoint.InfoOf(x)}}, nil)
		if err != nil || w.Write("embed", x) != nil || w.Close() != nil {
			return 6
		}
		say(map[string]any{"path": q.Path})
		return 0
	}
	var out []Scores
	for _, ids := range q.Sequences {
		s := Scores{LogProbs: []float64{}, Top: []int32{}, Entropy: []float64{}}
		for _, id := range ids[1:] {
			s.LogProbs, s.Top, s.Entropy = append(s.LogProbs, -float64(id)*q.Temperature), append(s.Top, id), append(s.Entropy, 1)
		}
		out = append(out, s)
	}
	say(map[string]any{"scores": out})
	return 0
}

func say(v any) {
	line, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(line))
}

// faked returns a Config whose interpreter is this binary, misbehaving as mode says.
func faked(t *testing.T, mode string) Config {
	t.Helper()
	t.Setenv(fakeMode, mode)
	cfg := Default()
	cfg.Dir = "model"
	var err error
	if cfg.Python, err = os.Executable(); err != nil {
		t.Fatal(err)
	}
	return cfg
}

// started returns a running fake.
func started(t *testing.T, mode string) *Process {
	t.Helper()
	p, err := Start(t.Context(), faked(t, mode))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.end(errClosed) })
	return p
}
