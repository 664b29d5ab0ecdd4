package run

import (
	"encoding/json"
	"fmt"
	"path/filepath"
)

// Files and folders of a run, relative to its directory.
const (
	LockFile      = "run.lock"
	StatusFile    = "status.json"
	ConfigFile    = "config.json"
	RowsFile      = "metrics.jsonl"
	AlarmsFile    = "alarms.jsonl"
	LogFile       = "log.jsonl"
	SamplesDir    = "samples"
	TensorBoard   = "tensorboard"
	spansDir      = "spans"
	evalDir       = "eval"
	expertsDir    = "experts"
	cyclesPerFile = 1000 // of spans
)

// SpansFile returns the file that holds the spans of a cycle.
func SpansFile(cycle int) string {
	return filepath.Join(spansDir, fmt.Sprintf("%04d.jsonl", cycle/cyclesPerFile))
}

// EvalFile returns the file of an evaluation after a cycle.
func EvalFile(name string, cycle int) string {
	return filepath.Join(evalDir, name, fmt.Sprintf("c%06d.jsonl", cycle))
}

// ExpertsFile returns the file of expert loads of a cycle.
func ExpertsFile(cycle int) string { return filepath.Join(expertsDir, fmt.Sprintf("c%06d.bin", cycle)) }

// parse reads one line of JSON.
func parse[T any](line []byte) (T, error) {
	var v T
	err := json.Unmarshal(line, &v)
	return v, err
}

// line returns v as a line of JSON.
func line(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	return append(b, '\n'), err
}
