package bench

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The works.
const (
	Generate = "generate"
	Decode   = "decode" // measured along with generate
	Score    = "score"
	Train    = "train"
	Growth   = "growth"
	Memory   = "memory"
)

// Config says what is measured. The zero value is not usable; start from Default.
type Config struct {
	Model  string   `flag:"model" help:"tiny, mid, or the path of a config.json"`
	Format string   `flag:"format" choices:"f32 bf16" help:"format of the matrices"`
	Work   []string `flag:"work" choices:"generate score train growth memory" help:"what to measure"`
	Runs   int      `flag:"runs" help:"measurements of each work, after one to warm up; at least 5"`
	Seed   uint64   `flag:"seed" help:"seed of weights and tokens"`

	Prompt  int     `flag:"prompt" help:"generate: tokens of a prompt"`
	New     int     `flag:"new" help:"generate, growth: tokens of a response"`
	Batches []int   `flag:"batch" help:"generate: prompts at a time"`
	Score   []Shape `flag:"score-shape" help:"score: sequences x tokens"`
	Train   []Shape `flag:"train-shape" help:"train: sequences x tokens"`

	Contexts  []int `flag:"context" help:"growth: lengths of the sequence"`
	Cycles    int   `flag:"cycles" help:"memory: cycles of update, generation and training"`
	Recompute bool  `flag:"recompute" help:"train with activations computed again instead of kept"`
}

// Default returns the works that docs/performance.md has targets for.
func Default() Config {
	return Config{
		Model: "tiny", Format: "f32", Work: []string{Generate, Score, Train}, Runs: 9, Seed: 1,
		Prompt: 64, New: 48, Batches: []int{1, 16, 64},
		Score: []Shape{{8, 256}}, Train: []Shape{{8, 256}, {4, 1024}},
		Contexts: []int{256, 512, 1024, 2048, 4096, 8192, 16384}, Cycles: 8,
	}
}

// has reports whether a work is asked for.
func (c Config) has(work string) bool { return slices.Contains(c.Work, work) }

// Validate reports everything that is wrong with c, in the words of the flags.
func (c Config) Validate() error {
	var errs []error
	atLeast := func(least int, flag string, values ...int) {
		for _, v := range values {
			if v < least {
				errs = append(errs, fmt.Errorf("--%s is %d, want at least %d", flag, v, least))
			}
		}
	}
	some := func(flag, work string, n int) {
		if n == 0 && c.has(work) {
			errs = append(errs, fmt.Errorf("--%s is empty, want one or more for --work %s", flag, work))
		}
	}
	if len(c.Work) == 0 {
		errs = append(errs, errors.New("--work is empty, want one or more"))
	}
	atLeast(5, "runs", c.Runs)
	atLeast(1, "prompt", c.Prompt)
	atLeast(2, "new", c.New)
	atLeast(1, "batch", c.Batches...)
	atLeast(c.New+1, "context", c.Contexts...)
	atLeast(3, "cycles", c.Cycles)
	some("batch", Generate, len(c.Batches))
	some("score-shape", Score, len(c.Score))
	some("train-shape", Train, len(c.Train))
	some("context", Growth, len(c.Contexts))
	if c.has(Growth) && len(c.Contexts) == 1 {
		errs = append(errs, errors.New("--context has one length, want two or more to see growth"))
	}
	return errors.Join(errs...)
}

// mostTokens is the largest batch that is taken for meant: its ids alone are gigabytes of samples.
const mostTokens = 1 << 24

// A Shape is a batch of sequences of one length: 8x256.
type Shape struct{ Batch, Length int }

// Tokens returns how many tokens a batch has.
func (s Shape) Tokens() int { return s.Batch * s.Length }

// String returns the form that UnmarshalText reads.
func (s Shape) String() string { return fmt.Sprintf("%dx%d", s.Batch, s.Length) }

// MarshalText implements encoding.TextMarshaler.
func (s Shape) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Shape) UnmarshalText(text []byte) error {
	batch, length, found := strings.Cut(string(text), "x")
	b, err := strconv.Atoi(batch)
	l, err2 := strconv.Atoi(length)
	if !found || err != nil || err2 != nil || b < 1 || l < 1 {
		return errors.New("want sequences x tokens, such as 8x256")
	}
	if b > mostTokens/l {
		return fmt.Errorf("want at most %d tokens", mostTokens)
	}
	s.Batch, s.Length = b, l
	return nil
}
