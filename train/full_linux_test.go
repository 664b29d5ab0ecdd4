package train

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"furlong/dtype"
	"furlong/metrics/disk/disktest"
)

// Where the disk is full the error says so and names the file, and nothing half written is left under any name.
func TestFullDisk(t *testing.T) {
	if disktest.Alone(t) {
		return
	}
	e := cpuEngine(t, settings(), dtype.BF16)
	good := t.TempDir()
	if err := e.Save(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	model := size(t, filepath.Join(good, modelDir, "model.safetensors"))
	for _, tt := range []struct {
		name  string
		limit uint64
		file  string
		left  []string
	}{
		{"nothing fits", 100, modelDir, nil},
		{"half of the model fits", model / 2, modelDir, nil},
		{"the model fits", model + 1, optimFile, []string{modelDir, modelDir + "/config.json", modelDir + "/model.safetensors"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			var err error
			disktest.Full(t, tt.limit, func() { err = e.Save(t.Context(), dir) })
			if !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), tt.file) {
				t.Errorf("error is %v, want %v of %s", err, syscall.EFBIG, tt.file)
			}
			if err != nil && strings.Count(err.Error(), syscall.EFBIG.Error()) != 1 {
				t.Errorf("error says the same twice: %v", err)
			}
			if got := strings.Join(listing(t, dir), " "); got != strings.Join(tt.left, " ") {
				t.Errorf("left behind: %v, want %v", got, tt.left)
			}
		})
	}
	if err := e.Save(t.Context(), t.TempDir()); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

func size(t *testing.T, path string) uint64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return uint64(info.Size())
}

func listing(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, _ fs.DirEntry, err error) error {
		if path != "." {
			all = append(all, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
