package safetensors

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"furlong/checkpoint"
	"furlong/tensor"
)

// A DirWriter writes a directory of one file, or of shards with an index. It is a [checkpoint.Sink].
//
// All is written to a directory beside the target, which Close renames. When anything fails before that,
// it is removed and there is no target.
type DirWriter struct {
	dir, stage string
	metadata   map[string]string
	shards     []*shard
	of         map[string]*shard
	keep       bool  // the stage outlives a failure
	err        error // the first failure, or closed; the stage is then gone
}

// A shard is one file of the directory, open from its first tensor to its last.
type shard struct {
	name    string
	entries []checkpoint.Entry
	bytes   int64
	left    int  // tensors that have not been written
	whole   bool // on the disk under its name
	w       *Writer
}

// CreateDir begins a directory, which must not exist or be empty, that will hold the given tensors. If they
// are more than shardBytes they are spread, in their order, over shards of at most that size (a larger
// tensor gets a shard of its own); 0 means one file. Each file carries the metadata.
func CreateDir(dir string, entries []checkpoint.Entry, metadata map[string]string, shardBytes int64) (*DirWriter, error) {
	d, err := newDir(dir, entries, metadata, shardBytes)
	if err != nil {
		return nil, err
	}
	d.stage, err = stageBeside(d.dir)
	return d, err
}

// newDir returns a writer without a stage.
func newDir(dir string, entries []checkpoint.Entry, metadata map[string]string, shardBytes int64) (*DirWriter, error) {
	dir = filepath.Clean(dir)
	if err := checkVacant(dir); err != nil {
		return nil, err
	}
	if _, err := place(entries); err != nil { // all names and sizes, before anything is made
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	d := &DirWriter{dir: dir, metadata: metadata, shards: cut(entries, shardBytes), of: map[string]*shard{}}
	for _, s := range d.shards {
		for _, e := range s.entries {
			d.of[e.Name] = s
		}
	}
	return d, nil
}

// checkVacant checks that dir can become a new directory.
func checkVacant(dir string) error {
	list, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if len(list) > 0 {
		return fmt.Errorf("%s: has files (%s, ...), want a new or empty directory", dir, list[0].Name())
	}
	return nil
}

// stageBeside makes a directory beside dir under a name that nobody has.
func stageBeside(dir string) (string, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return "", err
	}
	for i := 0; ; i++ {
		stage := dir + ".tmp" + strconv.Itoa(i)
		if err := os.Mkdir(stage, 0o777); !errors.Is(err, os.ErrExist) {
			return stage, err
		}
	}
}

// cut spreads entries over shards and names these.
func cut(entries []checkpoint.Entry, limit int64) []*shard {
	shards := []*shard{{}}
	for _, e := range entries {
		n := e.Bytes()
		s := shards[len(shards)-1]
		if limit > 0 && len(s.entries) > 0 && s.bytes+n > limit {
			s = &shard{}
			shards = append(shards, s)
		}
		s.entries = append(s.entries, e)
		s.bytes += n
		s.left++
	}
	shards[0].name = singleName
	for i, s := range shards {
		if len(shards) > 1 {
			s.name = fmt.Sprintf("model-%05d-of-%05d.safetensors", i+1, len(shards))
		}
	}
	return shards
}

// Write stores a tensor: any order, each once. A shard is complete, on the disk and closed with its last tensor.
func (d *DirWriter) Write(name string, t *tensor.Tensor) error {
	if d.err != nil {
		return d.err
	}
	s := d.of[name]
	if s == nil {
		return fmt.Errorf("%s: tensor %q: not announced", d.dir, name)
	}
	if s.left == 0 {
		return fmt.Errorf("%s: tensor %q: written twice", d.dir, name)
	}
	if err := d.open(s); err != nil {
		return d.fail(err)
	}
	if err := s.w.Write(name, t); err != nil {
		return d.fail(err)
	}
	if s.left--; s.left > 0 {
		return nil
	}
	if err := s.w.Close(); err != nil {
		return d.fail(err)
	}
	s.whole = true
	return nil
}

func (d *DirWriter) open(s *shard) (err error) {
	if s.w == nil {
		s.w, err = Create(filepath.Join(d.stage, s.name), s.entries, d.metadata)
	}
	return err
}

// WriteFile adds a file that is not tensors, such as config.json.
func (d *DirWriter) WriteFile(name string, data []byte) error {
	if d.err != nil {
		return d.err
	}
	if !plainName(name) || d.reserved(name) {
		return d.fail(fmt.Errorf("%q is not a name for a file beside the tensors", name))
	}
	if err := writeNew(filepath.Join(d.stage, name), data); err != nil {
		return d.fail(err)
	}
	return nil
}

// reserved reports whether a name belongs to the index or a shard.
func (d *DirWriter) reserved(name string) bool {
	return name == indexName || slices.ContainsFunc(d.shards, func(s *shard) bool { return s.name == name })
}

// writeNew writes a file that must not exist, durably.
func writeNew(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

// Close makes the directory visible, or fails, naming each tensor that was never written.
func (d *DirWriter) Close() error {
	if d.err != nil {
		return d.err
	}
	if err := d.finish(); err != nil {
		return d.fail(err)
	}
	d.err = fmt.Errorf("%s: %w", d.dir, errClosed)
	if err := syncDir(filepath.Dir(d.dir)); err != nil {
		return fmt.Errorf("%s: is written, but perhaps not durable: %w", d.dir, err)
	}
	return nil
}

func (d *DirWriter) finish() error {
	if err := d.missing(); err != nil {
		return err
	}
	if len(d.of) == 0 {
		if err := d.writeEmpty(d.shards[0]); err != nil {
			return err
		}
	}
	if len(d.shards) > 1 {
		if err := writeNew(filepath.Join(d.stage, indexName), d.index()); err != nil {
			return err
		}
	}
	if err := syncDir(d.stage); err != nil {
		return err
	}
	if err := os.Remove(d.dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err // it is no longer empty
	}
	return os.Rename(d.stage, d.dir)
}

// writeEmpty writes the one shard of a checkpoint without tensors.
func (d *DirWriter) writeEmpty(s *shard) error {
	if err := d.open(s); err != nil {
		return err
	}
	return s.w.Close()
}

func (d *DirWriter) missing() error {
	var errs []error
	for _, s := range d.shards {
		for _, e := range s.entries {
			if s.left > 0 && (s.w == nil || !s.w.written[e.Name]) {
				errs = append(errs, fmt.Errorf("tensor %q: never written", e.Name))
			}
		}
	}
	return checkpoint.Join(errs)
}

// index returns the index file: where each tensor is, in order.
func (d *DirWriter) index() []byte {
	var total int64
	var list bytes.Buffer
	for _, s := range d.shards {
		total += s.bytes
		for _, e := range s.entries {
			if list.Len() > 0 {
				list.WriteString(",\n")
			}
			list.WriteString("    ")
			writeJSON(&list, e.Name)
			fmt.Fprintf(&list, ": %q", s.name)
		}
	}
	return fmt.Appendf(nil, "{\n  \"metadata\": {\n    \"total_size\": %d\n  },\n  \"weight_map\": {\n%s\n  }\n}\n", total, list.Bytes())
}

// fail gives up: it removes all that was written and returns err with the directory's name, now and from then on.
func (d *DirWriter) fail(err error) error {
	for _, s := range d.shards {
		if s.w != nil && s.w.err == nil {
			s.w.fail(errClosed)
		}
	}
	d.err = fmt.Errorf("%s: %w", d.dir, err)
	if !d.keep {
		d.err = errors.Join(d.err, os.RemoveAll(d.stage))
	}
	return d.err
}
