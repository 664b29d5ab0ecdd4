package transformers

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

//go:embed sidecar.py
var script string

//go:embed requirements.txt
var requirements string

// Config is what a Process can be told. The zero value is not usable; start from Default.
type Config struct {
	Dir       string        // checkpoint in the layout of Hugging Face: config.json and *.safetensors
	Python    string        // interpreter, by path or by name
	Dtype     string        // format of computation: float32, float64 or bfloat16
	Threads   int           // that the library computes with
	Timeout   time.Duration // longest time that one question may take, loading among them
	MaxAnswer int           // longest answer that is read, in bytes
}

// Default returns a Config without a directory.
func Default() Config {
	return Config{Python: "python3", Dtype: "float32", Threads: 1, Timeout: 30 * time.Minute, MaxAnswer: 256 << 20}
}

// Dtypes returns the formats of computation that a Process knows.
func Dtypes() []string { return []string{"float32", "float64", "bfloat16"} }

// Validate reports everything that is wrong with c.
func (c Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("transformers: "+format, args...)) }
	if c.Dir == "" {
		bad("no directory is named, want one with config.json and *.safetensors")
	}
	if c.Python == "" {
		bad("no Python is named, want an interpreter such as python3")
	}
	if !slices.Contains(Dtypes(), c.Dtype) {
		bad("dtype is %q, want one of %s", c.Dtype, strings.Join(Dtypes(), ", "))
	}
	if c.Threads < 1 {
		bad("threads are %d, want at least 1", c.Threads)
	}
	if c.Timeout <= 0 {
		bad("the time for an answer is %v, want more than 0", c.Timeout)
	}
	if c.MaxAnswer < 1 {
		bad("the longest answer is %d bytes, want at least 1", c.MaxAnswer)
	}
	return errors.Join(errs...)
}

// Install returns the command that gives an interpreter what a Process needs, in the versions that were tried.
func Install(python string) string {
	return python + " -m pip install " + strings.Join(strings.Fields(requirements), " ")
}
