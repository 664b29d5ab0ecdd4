package pull

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"furlong/checkpoint/safetensors"
)

const (
	indexName  = "model.safetensors.index.json"
	singleName = "model.safetensors"
)

// maxIndex is more than the index of any checkpoint has.
const maxIndex = 100_000_000

// A delta is what the index of a version says of its bytes.
type delta struct {
	version, base int
	overwrite     bool // else xor
	sum           func([]byte) string
}

// readIndex returns what a published version is: nil for a whole checkpoint.
func readIndex(dir string) (*delta, error) {
	if st, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("a version is missing: %w", err)
	} else if !st.IsDir() {
		return nil, fmt.Errorf("%s is a file, want a folder", dir)
	}
	path := filepath.Join(dir, indexName)
	st, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, indexless(dir)
	}
	if err != nil {
		return nil, err
	}
	if st.Size() > maxIndex {
		return nil, fmt.Errorf("%s is %d bytes, want at most %d", path, st.Size(), maxIndex)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	d, err := parseIndex(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return d, nil
}

// indexless checks that a version without an index is a whole checkpoint in one file: shards of a delta may be visible before their index is.
func indexless(dir string) error {
	shards, err := filepath.Glob(filepath.Join(dir, "*.safetensors"))
	if err != nil {
		return err
	}
	if len(shards) != 1 || filepath.Base(shards[0]) != singleName {
		return fmt.Errorf("%s: has no %s, and is no checkpoint in one file", dir, indexName)
	}
	return nil
}

// parseIndex reads the metadata of an index; nil if it is that of a whole checkpoint.
func parseIndex(raw []byte) (*delta, error) {
	var index struct {
		Metadata map[string]any `json:"metadata"`
	}
	if err := json.Unmarshal(raw, &index); err != nil {
		return nil, err
	}
	m := index.Metadata
	if m["delta_encoding"] == nil {
		return nil, nil
	}
	d := &delta{}
	var errs []error
	number := func(key string) int {
		v, err := strconv.Atoi(fmt.Sprint(m[key]))
		if err != nil || v < 0 {
			errs = append(errs, fmt.Errorf("%s is %.50q, want a number", key, fmt.Sprint(m[key])))
		}
		return v
	}
	d.version, d.base = number("version"), number("base_version")
	switch m["delta_encoding"] {
	case "xor":
	case "overwrite":
		d.overwrite = true
	default:
		errs = append(errs, fmt.Errorf("delta_encoding is %.50q, want xor or overwrite", fmt.Sprint(m["delta_encoding"])))
	}
	if m["compression_format"] != "zstd" {
		errs = append(errs, fmt.Errorf("compression_format is %.50q, want zstd", fmt.Sprint(m["compression_format"])))
	}
	if d.sum = checksums[fmt.Sprint(m["checksum_format"])]; d.sum == nil {
		errs = append(errs, fmt.Errorf("checksum_format is %.50q, want xxh3-128, blake3 or adler32", fmt.Sprint(m["checksum_format"])))
	}
	return d, errors.Join(errs...)
}

// A shards is the files of a folder, by the tensors in them.
type shards struct {
	files []*safetensors.File
	paths []string
	of    map[string]int // a tensor's file
}

// openShards opens every safetensors file of a folder. A tensor in two of them is an error.
func openShards(dir string) (*shards, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.safetensors"))
	if err != nil {
		return nil, err
	}
	s := &shards{of: map[string]int{}}
	for _, path := range paths {
		f, err := safetensors.Open(path)
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		s.files, s.paths = append(s.files, f), append(s.paths, path)
		for _, name := range f.Names() {
			if _, twice := s.of[name]; twice {
				return nil, errors.Join(fmt.Errorf("tensor %q is in two files, one of them %s", name, path), s.close())
			}
			s.of[name] = len(s.files) - 1
		}
	}
	return s, nil
}

func (s *shards) close() error {
	var errs []error
	for _, f := range s.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
