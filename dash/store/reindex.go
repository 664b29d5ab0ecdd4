package store

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"

	"furlong/metrics/run"
	"furlong/metrics/samples"
)

// cached returns where an index of this run would be outside of it; empty without a folder for them.
func (r *Run) cached() string {
	if r.o.Cache == "" {
		return ""
	}
	whole, err := filepath.Abs(r.dir)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(whole))
	return filepath.Join(r.o.Cache, "index-"+hex.EncodeToString(sum[:8]))
}

// Reindex makes the index of samples again from the bodies: in the run if that may be written, else in the cache folder. It returns where.
func (r *Run) Reindex(log *slog.Logger) (samples.Report, string, error) {
	r.index.mu.Lock()
	defer r.index.mu.Unlock()
	if r.index.x != nil {
		if err := r.index.close(); err != nil {
			return samples.Report{}, "", err
		}
		r.index.x, r.index.segments = nil, nil
	}
	life, err := run.ReadLife(r.dir, r.o.Self, r.o.Now(), 0)
	if err == nil && life.State == run.Running {
		return samples.Report{}, "", asked(Growing, "%s is being written; its index is made again when it has ended", r.dir)
	}
	dir := filepath.Join(r.dir, run.SamplesDir)
	rep, err := samples.Reindex(dir, "", log)
	if err == nil || !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) {
		return rep, filepath.Join(dir, "index"), err
	}
	out := r.cached()
	if out == "" {
		return rep, "", err
	}
	if err := errors.Join(os.MkdirAll(r.o.Cache, 0o700), os.RemoveAll(out)); err != nil {
		return rep, "", err
	}
	rep, err = samples.Reindex(dir, out, log)
	return rep, out, err
}
