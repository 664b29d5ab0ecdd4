package store

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"furlong/dash/api"
	"furlong/metrics/run"
)

// The head names the version that the status says serves: a push comes after the row of its cycle. Without such a word it is the newest row's.
func TestHeadSaysWhatServes(t *testing.T) {
	for _, tt := range []struct {
		serving int
		want    string
	}{{0, "v3"}, {4, "v4"}, {2, "v3"}, {1<<24 | 4, "2·v4"}} {
		dir := t.TempDir()
		var rows []byte
		for c := 1; c <= 3; c++ {
			rows = fmt.Appendf(rows, `{"kind":"cycle","cycle":%d,"step":%d,"version":%d,"attempt":1,"time":%d}`+"\n", c, c, c, 1764403200+c)
		}
		status := fmt.Sprintf(`{"state":"finished","attempt":1,"cycle":3,"serving":%d}`, tt.serving)
		for name, text := range map[string]string{run.RowsFile: string(rows), run.StatusFile: status} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		h, err := open(t, dir).Head(false)
		if err != nil {
			t.Fatal(err)
		}
		if h.Version != tt.want {
			b, _ := json.Marshal(h)
			t.Errorf("serving %d: the head says %q, want %q: %s", tt.serving, h.Version, tt.want, b)
		}
	}
}

// The head has the lines of reference that the server was given, and an empty list without.
func TestHeadHasLinesOfReference(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, run.RowsFile), []byte(`{"kind":"cycle","cycle":1}`+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, lines := range [][]api.Baseline{nil, {{Name: "base", Value: "0.39"}}} {
		r := open(t, dir)
		r.o.Baselines = lines
		h, err := r.Head(false)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := json.Marshal(h.Baselines)
		if want := map[int]string{0: `[]`, 1: `[{"name":"base","value":0.39}]`}[len(lines)]; string(b) != want {
			t.Errorf("lines are %s, want %s", b, want)
		}
	}
}
