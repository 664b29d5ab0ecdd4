package main

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"furlong/metrics/disk"
	"furlong/parity"
	"furlong/parity/page"
)

// canKeep makes a folder and tries to write into it: what cannot be kept is to be known before hours of scoring.
func canKeep(dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		defer os.Remove(dir) // a comparison that comes to nothing leaves nothing
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".tried-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// keepParity writes a report into a folder, and beside it what both sides said, each a recording that can be a side again. Reports of a comparison before go first: a
// folder that was left half written has none that is not of its recordings.
func keepParity(dir string, res *parity.Result) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"report.json", "report.html"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	rep := res.Report
	if err := parity.WriteRecord(filepath.Join(dir, "a"), rep.A, res.Sequences, res.A, res.TapA); err != nil {
		return err
	}
	given := slices.Clone(res.Sequences)
	for i := range given {
		given[i].Generated = nil // it was A that drew
	}
	if err := parity.WriteRecord(filepath.Join(dir, "b"), rep.B, given, res.B, res.TapB); err != nil {
		return err
	}
	err := disk.Replace(filepath.Join(dir, "report.json"), func(w io.Writer) error { return json.NewEncoder(w).Encode(rep) })
	if err != nil {
		return err
	}
	return disk.Replace(filepath.Join(dir, "report.html"), func(w io.Writer) error { return page.Write(w, rep) })
}

// keepSelf writes what came of holding a side against itself into a folder.
func keepSelf(dir string, rep *parity.SelfReport) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	err := disk.Replace(filepath.Join(dir, "self.json"), func(w io.Writer) error { return json.NewEncoder(w).Encode(rep) })
	if err != nil {
		return err
	}
	return disk.Replace(filepath.Join(dir, "self.html"), func(w io.Writer) error { return page.WriteSelf(w, rep) })
}

// buildName names this binary.
func buildName() string {
	b := readBuild()
	if b.Revision == "" {
		return b.Version
	}
	return b.Version + " " + b.Revision
}
