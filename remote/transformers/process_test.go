package transformers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestAnswers(t *testing.T) {
	p := started(t, "well")
	if h := p.Hello(); h.Vocab != 97 || h.MaxPositions != 256 || h.Dtype != "float32" {
		t.Errorf("hello is %+v", h)
	}
	got, err := p.Score(t.Context(), [][]int32{{1, 2, 3}, {4}}, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got[0].LogProbs, []float64{-1, -1.5}) || !slices.Equal(got[0].Top, []int32{2, 3}) || len(got[1].LogProbs) != 0 {
		t.Errorf("scores are %+v", got)
	}
	if got, err := p.Score(t.Context(), nil, 1); got != nil || err != nil {
		t.Errorf("scores of nothing are %v, %v", got, err)
	}
	f, err := p.Taps(t.Context(), []int32{1})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if x, err := f.Tensor("embed"); err != nil || !slices.Equal(x.F32(), []float32{1, 2, 3}) {
		t.Errorf("tap is %v, %v", x, err)
	}
	if left, err := os.ReadDir(p.dir); err != nil || len(left) != 0 {
		t.Errorf("folder of taps has %v, %v", left, err)
	}
	if err := errors.Join(p.Close(), p.Close()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(p.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("folder of taps is left: %v", err)
	}
	if p.cmd.ProcessState == nil || !p.cmd.ProcessState.Success() {
		t.Errorf("process left with %v", p.cmd.ProcessState)
	}
}

// TestManyAtOnce asks from many goroutines; each must get its own answer.
func TestManyAtOnce(t *testing.T) {
	p := started(t, "well")
	var wg sync.WaitGroup
	for i := range int32(20) {
		wg.Go(func() {
			got, err := p.Score(t.Context(), [][]int32{{0, i}}, 1)
			if err != nil || got[0].LogProbs[0] != -float64(i) {
				t.Errorf("token %d: %v, %v", i, got, err)
			}
		})
	}
	wg.Wait()
}

func TestStartFails(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for mode, want := range map[string]string{
		"early":       "died: exit status 3; the last it said:\nboom",
		"silent":      "side-car has left",
		"missing":     "has no torch, no safetensors; give it what is needed with: ",
		"other dtype": `dtype is "float16", want "float32"`,
	} {
		t.Run(mode, func(t *testing.T) {
			p, err := Start(t.Context(), faked(t, mode))
			if p != nil || err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Start: %v, want %q", err, want)
			}
			if mode == "missing" && !strings.Contains(err.Error(), Install("")) {
				t.Errorf("Start: %v, want the command that installs", err)
			}
		})
	}
	cfg := Default()
	cfg.Dir, cfg.Python = "model", "./no-such-python"
	if _, err := Start(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "no-such-python") || !strings.Contains(err.Error(), "want a Python 3") {
		t.Errorf("Start without an interpreter: %v", err)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) != 0 {
		t.Errorf("%s is left with %v, %v", os.TempDir(), left, err)
	}
}

// TestRefusals leave the process alive: the second question fails as the first did.
func TestRefusals(t *testing.T) {
	for mode, want := range map[string]string{
		"refuses": "transformers: score: sequence 0 is empty",
		"few":     "0 answers, want one for each of 1 sequences",
		"short":   "sequence 0: 1 logprobs, 0 best tokens, 0 entropies, want 2 of each",
	} {
		t.Run(mode, func(t *testing.T) {
			p := started(t, mode)
			for range 2 {
				if _, err := p.Score(t.Context(), [][]int32{{1, 2, 3}}, 1); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("Score: %v, want %q", err, want)
				}
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestDeaths: whatever a process dies of is said, then and later, and nothing is left of it.
func TestDeaths(t *testing.T) {
	for mode, want := range map[string]string{
		"dies":     "score: side-car died: exit status 3; the last it said:\nboom",
		"long":     "answer is too long: more than 1000 bytes",
		"nonsense": `answered what is not its protocol: "Loading weights: 100%"`,
		"hangs":    "no answer in 1ms",
		"deaf":     "no answer in 1ms",
	} {
		t.Run(mode, func(t *testing.T) {
			p := started(t, mode)
			p.cfg.MaxAnswer = 1000
			if strings.Contains(want, "1ms") {
				p.cfg.Timeout = time.Millisecond
			}
			for range 2 {
				if _, err := p.Score(t.Context(), [][]int32{{1, 2}}, 1); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("Score: %v, want %q", err, want)
				}
			}
			if p.cmd.ProcessState == nil {
				t.Error("process was not waited for")
			}
			if _, err := os.Stat(p.dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("folder of taps is left: %v", err)
			}
		})
	}
}

// TestContexts ends a question, or the life of a process, while it is asked.
func TestContexts(t *testing.T) {
	why := errors.New("we are leaving")
	for _, mode := range []string{"of the question", "of the life"} {
		t.Run(mode, func(t *testing.T) {
			life, endLife := context.WithCancelCause(t.Context())
			defer endLife(nil)
			p, err := Start(life, faked(t, "deaf"))
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if mode == "of the life" {
				cancel = endLife
			}
			go func() {
				for !strings.Contains(p.said.String(), "asked") {
					runtime.Gosched()
				}
				cancel(why)
			}()
			if _, err := p.Score(ctx, [][]int32{{1, 2}}, 1); !errors.Is(err, why) {
				t.Errorf("Score: %v, want %v", err, why)
			}
			if p.cmd.ProcessState == nil {
				t.Error("process was not waited for")
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCloseWhileAsked must not wait for an answer that never comes.
func TestCloseWhileAsked(t *testing.T) {
	p := started(t, "deaf")
	done := make(chan error)
	go func() {
		_, err := p.Score(t.Context(), [][]int32{{1, 2}}, 1)
		done <- err
	}()
	for !strings.Contains(p.said.String(), "asked") {
		runtime.Gosched()
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; !errors.Is(err, errClosed) {
		t.Errorf("Score: %v, want %v", err, errClosed)
	}
}

// TestTurns: who waits for another's answer can give up, and nobody else is the worse for it.
func TestTurns(t *testing.T) {
	p := started(t, "well")
	<-p.turn
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Score(ctx, [][]int32{{1, 2}}, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("Score: %v, want %v", err, context.Canceled)
	}
	p.turn <- struct{}{}
	if _, err := p.Score(t.Context(), [][]int32{{1, 2}}, 1); err != nil {
		t.Error(err)
	}
}

func TestCloseSaysHowItLeft(t *testing.T) {
	p := started(t, "sour")
	if err := p.Close(); err == nil || !strings.Contains(err.Error(), "exit status 4") {
		t.Errorf("Close: %v", err)
	}
}

func TestTemperature(t *testing.T) {
	p := started(t, "well")
	for _, bad := range []float64{0, -1} {
		if _, err := p.Score(t.Context(), [][]int32{{1, 2}}, bad); err == nil {
			t.Errorf("temperature %v was taken", bad)
		}
	}
}

func TestValidate(t *testing.T) {
	good := Default()
	good.Dir = "model"
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	err := Config{Dtype: "float16"}.Validate()
	for _, want := range []string{"no directory", "no Python", `dtype is "float16"`, "threads are 0", "0s", "0 bytes"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Validate: %v, want %q", err, want)
		}
	}
}

func TestReadLine(t *testing.T) {
	for _, tt := range []struct {
		in   string
		most int
		want string
	}{
		{"abc\ndef\n", 3, "abc nil"},
		{"abcd\n", 3, " answer is too long: more than 3 bytes"},
		{strings.Repeat("x", 100) + "\n", 100, strings.Repeat("x", 100) + " nil"},
		{strings.Repeat("x", 101) + "\n", 100, " answer is too long: more than 100 bytes"},
		{strings.Repeat("x", 1000), 100, " answer is too long: more than 100 bytes"},
		{"abc", 100, " EOF"},
		{"\n", 1, " nil"},
	} {
		line, err := readLine(bufio.NewReaderSize(strings.NewReader(tt.in), 16), tt.most)
		got := fmt.Sprintf("%s %v", line, err)
		if got = strings.ReplaceAll(got, "<nil>", "nil"); got != tt.want {
			t.Errorf("readLine(%.10q, %d) = %q, want %q", tt.in, tt.most, got, tt.want)
		}
	}
}

func TestTail(t *testing.T) {
	var said tail
	for i := range 3000 {
		fmt.Fprintf(&said, "%d\n", i)
	}
	if s := said.String(); len(s) != tailBytes || !strings.HasSuffix(s, "2998\n2999\n") {
		t.Errorf("%d bytes, ending in %q", len(s), s[max(0, len(s)-20):])
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`{}`, `{"error":"x"}`, `{"error":null,"scores":[{"logprobs":[1]}]}`, `{"missing":["torch"]}`, `[`, `null`, `{"scores":[null]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if r, err := parse(line, "python3"); (r == nil) == (err == nil) {
			t.Errorf("parse(%q) = %v, %v", line, r, err)
		}
	})
}
