package orchestrator

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"furlong/metrics/disk"
)

const manifestFile = "manifest.json"

// A manifest says what a checkpoint holds: the SHA-256 of every file but itself.
type manifest struct {
	Files map[string]string `json:"files"`
}

func writeManifest(dir string) error {
	m, err := hashes(dir)
	if err != nil {
		return err
	}
	raw, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return err
	}
	return disk.ReplaceBytes(filepath.Join(dir, manifestFile), raw)
}

// checkManifest reports every file that is missing, changed or unknown.
func checkManifest(dir string) error {
	_, damage, err := compareManifest(dir)
	return errors.Join(append(damage, err)...)
}

// compareManifest returns how many files the manifest names, and every one that is missing, changed or unknown, in the order of their names.
func compareManifest(dir string) (files int, damage []error, err error) {
	raw, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if err != nil {
		return 0, nil, err
	}
	var want manifest
	if err := json.Unmarshal(raw, &want); err != nil {
		return 0, nil, fmt.Errorf("%s: %w", manifestFile, err)
	}
	if want.Files == nil {
		return 0, nil, fmt.Errorf("%s: has no files, want the SHA-256 of each", manifestFile)
	}
	got, err := hashes(dir)
	if err != nil {
		return 0, nil, err
	}
	all := maps.Clone(want.Files)
	maps.Copy(all, got.Files)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch w, g := want.Files[name], got.Files[name]; {
		case g == "":
			damage = append(damage, fmt.Errorf("%s is missing", name))
		case w == "":
			damage = append(damage, fmt.Errorf("%s is not in the manifest", name))
		case g != w:
			damage = append(damage, fmt.Errorf("%s has changed: sha256 is %.12s, want %.12s", name, g, w))
		}
	}
	return len(want.Files), damage, nil
}

func hashes(dir string) (manifest, error) {
	m := manifest{Files: map[string]string{}}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == manifestFile {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		m.Files[filepath.ToSlash(rel)], err = hash(path)
		return err
	})
	return m, err
}

func hash(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
