package safetensors

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"furlong/checkpoint"
	"furlong/tensor"
)

func TestParse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.safetensors")
	x := tensor.Of([]float32{1, 2, 3}, 3)
	w, err := Create(path, []checkpoint.Entry{{Name: "x", Info: checkpoint.InfoOf(x)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write("x", x); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Parse("embedded", raw)
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Tensor("x")
	if err != nil || !slices.Equal(got.F32(), x.F32()) {
		t.Errorf("got %v, %v, want %v", got, err, x.F32())
	}
	for _, cut := range []int{0, 5, len(raw) - 1} {
		if _, err := Parse("embedded", raw[:cut]); err == nil || !strings.Contains(err.Error(), "embedded") {
			t.Errorf("%d of %d bytes: %v, want an error that names it", cut, len(raw), err)
		}
	}
}
