package servertest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// A Target is a running server, and what the caller knows of it. Only URL is needed; what the rest would allow is skipped without it.
type Target struct {
	URL   string // without a slash at the end
	Key   string // API key
	Admin string // key of what changes weights or memory, where that is another

	// Model is the folder of the served checkpoint: its config.json tells vocabulary and special tokens.
	Model string
	// Upstream says that this is not Furlong: what Furlong decided for itself isn't asked for.
	Upstream bool

	// Start starts another server of the same kind with further flags, and stops it when the test ends.
	Start func(t testing.TB, flags ...string) *Target
	// Router starts a balancer that knows no workers.
	Router func(t testing.TB) *Target
	// Kill ends the server's process at once, as a crash does.
	Kill func()
	// Memory reads how much memory the server's process holds, in bytes.
	Memory func() (int64, error)
	// Goroutines counts the server's goroutines.
	Goroutines func() (int, error)

	// Weights are checkpoints by format (bf16, fp8, fp8+fp4): two of each, of one shape, with different numbers.
	Weights map[string]Pair
	// Wire is the first fp8 checkpoint under Hugging Face names.
	Wire string
	// Long is a checkpoint whose context has room for 131072 tokens and more.
	Long string
	// Spelled is a checkpoint with a tokenizer.json: tokens longer than a byte, special tokens that have a text, a template of its own.
	Spelled string
	// Room is a folder from which the server may load weights, and into which tests may write.
	Room string
	// Python is a Python interpreter, which may have the packages openai and sglang_router.
	Python string
}

// A Pair is two checkpoints of one shape.
type Pair struct{ A, B string }

// Flags by which Furlong does what no flag of SGLang does.
const (
	flagStrict  = "--strict-weight-updates"
	flagThreads = "--threads"
)

// facts are what tests need to know of a model; zero where it is unknown.
type facts struct {
	Vocab    int `json:"vocab_size"`
	EOS      int `json:"eos_token_id"`
	Layers   int `json:"num_hidden_layers"`
	Choices  int `json:"num_experts_per_tok"`
	Experts  int `json:"n_routed_experts"`
	Position int `json:"max_position_embeddings"`
}

// facts reads config.json of the served checkpoint.
func (g *Target) facts(t testing.TB) facts {
	var f facts
	if g.Model == "" {
		return f
	}
	raw, err := os.ReadFile(filepath.Join(g.Model, "config.json"))
	if err == nil {
		err = json.Unmarshal(raw, &f)
	}
	if err != nil {
		t.Fatalf("facts of the served model: %v", err)
	}
	return f
}

// model returns the folder of a checkpoint in format, the first or the second.
func (g *Target) pair(t testing.TB, format string) Pair {
	p, ok := g.Weights[format]
	if !ok {
		t.Skipf("needs two checkpoints in format %s", format)
	}
	return p
}
