package tensorboard

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"furlong/metrics/disk/disktest"
)

// file writes two steps and returns the file's bytes.
func file(t testing.TB, attempt int) []byte {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tensorboard")
	w, err := Create(dir, "host", 1764403200.5, attempt)
	if err != nil {
		t.Fatal(err)
	}
	for step := 115; step < 117; step++ {
		if err := w.Add(step, 1764403201, map[string]float64{"train/loss": float64(step) / 4, "rollout/raw_reward": math.Inf(1)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, fmt.Sprint("events.out.tfevents.1764403200.host.", attempt)))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRoundTrip(t *testing.T) {
	inf := float32(math.Inf(1))
	head := Event{Time: 1764403200.5, FileVersion: "brain.Event:2"}
	steps := []Event{
		{Time: 1764403201, Step: 115, Values: map[string]float32{"train/loss": 28.75, "rollout/raw_reward": inf}},
		{Time: 1764403201, Step: 116, Values: map[string]float32{"train/loss": 29, "rollout/raw_reward": inf}},
	}
	for _, tt := range []struct {
		attempt int
		want    []Event
	}{
		{1, []Event{head, steps[0], steps[1]}},
		{2, []Event{head, {Time: 1764403201, Step: 115, Restart: true}, steps[0], steps[1]}},
	} {
		b := file(t, tt.attempt)
		got, good, err := Read(b)
		if err != nil || good != len(b) || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("attempt %d: read %+v, %d of %d bytes, %v, want %+v", tt.attempt, got, good, len(b), err, tt.want)
		}
	}
}

// TestReference compares with a file that TensorBoard's own writer made (testdata/reference.py).
func TestReference(t *testing.T) {
	want, err := os.ReadFile("testdata/reference.tfevents")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	w, err := Create(dir, "h", 1764403200.5, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Add(300, 1764403201, map[string]float64{"train/loss": math.Inf(-1), "rollout/raw_reward": 0.1}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "events.out.tfevents.1764403200.h.2"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("file is\n%x, want\n%x", got, want)
	}
}

func TestTornAtEveryByte(t *testing.T) {
	b := file(t, 1)
	ends := []int{}
	for at := 0; at < len(b); {
		_, n, err := next(b[at:])
		if err != nil {
			t.Fatal(err)
		}
		at += n
		ends = append(ends, at)
	}
	for cut := range len(b) {
		want := 0
		for _, e := range ends {
			if cut >= e {
				want++
			}
		}
		if got, _, err := Read(b[:cut]); len(got) != want || err != nil {
			t.Errorf("cut at %d: %d events, %v, want %d", cut, len(got), err, want)
		}
	}
	for i := range b {
		b[i] ^= 1
		got, good, err := Read(b)
		if len(got) == len(ends) || err == nil && good == len(b) {
			t.Errorf("byte %d changed: all of it reads", i)
		}
		b[i] ^= 1
	}
}

func TestFullDisk(t *testing.T) {
	if disktest.Alone(t) {
		return
	}
	dir := t.TempDir()
	w, err := Create(dir, "h", 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "events.out.tfevents.0000000001.h.1")
	before, _ := os.ReadFile(path)
	disktest.Full(t, uint64(len(before))+10, func() { err = w.Add(1, 1, map[string]float64{"a": 1}) })
	if err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("Add = %v, want an error that names the file", err)
	}
	if after, _ := os.ReadFile(path); string(after) != string(before) {
		t.Errorf("file has %d bytes, want %d as before", len(after), len(before))
	}
}

func FuzzRead(f *testing.F) {
	f.Add(file(f, 2))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, good, _ := Read(b); good > len(b) {
			t.Errorf("read %d of %d bytes", good, len(b))
		}
		parse(b)
	})
}

func ExampleRead() {
	dir, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(dir)
	w, _ := Create(dir, "host", 1764403200, 1)
	w.Add(1, 1764403241, map[string]float64{"train/loss": 0.25})
	w.Close()
	names, _ := filepath.Glob(filepath.Join(dir, "*"))
	b, _ := os.ReadFile(names[0])
	events, _, _ := Read(b)
	fmt.Println(filepath.Base(names[0]), events[1].Step, events[1].Values)
	// Output: events.out.tfevents.1764403200.host.1 1 map[train/loss:0.25]
}
