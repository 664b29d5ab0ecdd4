package safetensors

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"furlong/dtype"
)

// However often it is interrupted, the directory in the end is that which is written at once.
func TestContinueDir(t *testing.T) {
	entries, tensors := sample()
	root := t.TempDir()
	once, dir := filepath.Join(root, "once"), filepath.Join(root, "d")
	w, err := CreateDir(once, entries, nil, 24)
	if err != nil {
		t.Fatal(err)
	}
	writeAll(t, w, tensors)
	left := 1
	for n := range entries {
		d, err := ContinueDir(dir, entries, nil, 24)
		if err != nil {
			t.Fatal(err)
		}
		left = 0
		for i, e := range entries {
			if d.Has(e.Name) {
				if err := d.Write(e.Name, tensors[e.Name]); err == nil {
					t.Errorf("%s is written though it is there", e.Name)
				}
				continue
			}
			if left++; i > n {
				break
			}
			if err := d.Write(e.Name, tensors[e.Name]); err != nil {
				t.Fatal(err)
			}
		}
		d.Suspend()
		if _, err := os.Stat(dir); err == nil {
			t.Fatal("a half-written directory has its name")
		}
		if names, _ := filepath.Glob(filepath.Join(Stage(dir), "*.tmp*")); len(names) > 0 {
			t.Errorf("left %v", names)
		}
	}
	d, err := ContinueDir(dir, entries, nil, 24)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !d.Has(e.Name) {
			if err := d.Write(e.Name, tensors[e.Name]); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"model-00001-of-00003.safetensors", "model-00003-of-00003.safetensors", "model.safetensors.index.json"} {
		a, errA := os.ReadFile(filepath.Join(once, name))
		b, errB := os.ReadFile(filepath.Join(dir, name))
		if errA != nil || errB != nil || string(a) != string(b) {
			t.Errorf("%s differs: %v, %v", name, errA, errB)
		}
	}
	wantFiles(t, root, "d", "once")
}

func TestContinueDirRefuses(t *testing.T) {
	entries, tensors := sample()
	dir := filepath.Join(t.TempDir(), "d")
	d, err := ContinueDir(dir, entries, nil, 24)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := d.Write(e.Name, tensors[e.Name]); err != nil {
			t.Fatal(err)
		}
	}
	d.Suspend()
	stray := filepath.Join(Stage(dir), "config.json")
	if err := os.WriteFile(stray, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	other, _ := sample()
	other[0].Type = dtype.I8
	if _, err := ContinueDir(dir, other, nil, 24); err == nil || !strings.Contains(err.Error(), "is U8[3], want I8[3]") {
		t.Errorf("with another format: error is %v", err)
	}
	if _, err := ContinueDir(dir, append(other[1:], other[0]), nil, 24); err == nil || !strings.Contains(err.Error(), "holds other tensors") {
		t.Errorf("with another order: error is %v", err)
	}
	if err := os.Truncate(filepath.Join(Stage(dir), "model-00001-of-00003.safetensors"), 10); err != nil {
		t.Fatal(err)
	}
	if _, err := ContinueDir(dir, entries, nil, 24); err == nil || !strings.Contains(err.Error(), "model-00001-of-00003") {
		t.Errorf("with a damaged shard: error is %v", err)
	}
	if _, err := os.Stat(stray); err == nil {
		t.Error("a file that is no shard is still there")
	}
}
