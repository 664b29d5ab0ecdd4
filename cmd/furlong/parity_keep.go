package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"

	"furlong/metrics/disk"
	"furlong/parity"
	"furlong/parity/page"
)

// keepParity writes a report into a folder, and beside it what both sides said, each a recording that can be a side again.
func keepParity(dir string, res *parity.Result) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
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
