package tensorboard

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// reader asks TensorBoard's own reader for the scalars of a directory.
const reader = `
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
a = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0})
a.Reload()
print(json.dumps({tag: [[e.step, e.value] for e in a.Scalars(tag)] for tag in a.Tags()["scalars"]}))
`

// What we write, TensorBoard's own reader reads: tags, steps and values. Where a run was resumed, the steps that it went back over count once.
func TestLibraryReads(t *testing.T) {
	python := os.Getenv("FURLONG_TEST_PYTHON")
	if info, err := os.Stat(python); err == nil && info.IsDir() {
		python += "/bin/python3"
	}
	if python == "" {
		python = "python3"
	}
	if out, err := exec.Command(python, "-c", "import tensorboard").CombinedOutput(); err != nil {
		t.Skipf("%s: %v %.200s\nwant Python 3 with tensorboard (pip), at FURLONG_TEST_PYTHON or on the path", python, err, bytes.TrimSpace(out))
	}
	dir := filepath.Join(t.TempDir(), "tensorboard")
	values := func(step int) map[string]float64 {
		return map[string]float64{"train/loss": float64(step) / 4, "eval/x-pass@1": 0.1, "rollout/größe": -math.MaxFloat32}
	}
	for attempt, steps := range [][]int{{1, 2, 3}, {3, 4, 70000}} {
		w, err := Create(dir, "host", 1764403200.5+float64(attempt), attempt+1)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range steps {
			if err := w.Add(step, 1764403201+float64(attempt), values(step)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(python, "-c", reader, dir)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	var got map[string][][2]float64
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	want := map[string][][2]float64{}
	for _, step := range []int{1, 2, 3, 4, 70000} {
		for tag, v := range values(step) {
			want[tag] = append(want[tag], [2]float64{float64(step), float64(float32(v))})
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("it reads %v, want %v", got, want)
	}
}
