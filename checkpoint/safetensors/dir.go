package safetensors

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"furlong/checkpoint"
	"furlong/tensor"
)

const (
	singleName = "model.safetensors"
	indexName  = "model.safetensors.index.json"
)

// A Dir is an open checkpoint: one file, or shards with an index. It is a [checkpoint.Source].
type Dir struct {
	path  string
	files []*File
	names []string
	of    map[string]*File
}

// OpenDir opens a checkpoint: a file, or a directory with model.safetensors or with shards and
// model.safetensors.index.json. Index and shards must agree about every tensor.
func OpenDir(path string) (*Dir, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.IsDir() {
		return openSingle(path, path)
	}
	single, index := filepath.Join(path, singleName), filepath.Join(path, indexName)
	switch {
	case exists(index):
		return openShards(path, index)
	case exists(single):
		return openSingle(path, single)
	}
	return nil, fmt.Errorf("%s: has neither %s nor %s", path, singleName, indexName)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, os.ErrNotExist)
}

func openSingle(path, file string) (*Dir, error) {
	f, err := Open(file)
	if err != nil {
		return nil, err
	}
	d := &Dir{path: path, of: map[string]*File{}}
	d.add(f)
	return d, nil
}

func (d *Dir) add(f *File) {
	d.files = append(d.files, f)
	for _, name := range f.header.names {
		d.names = append(d.names, name)
		d.of[name] = f
	}
}

// openShards opens every shard that the index names and holds the two against each other.
func openShards(path, index string) (*Dir, error) {
	names, shardOf, err := readIndex(index)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", index, err)
	}
	if err := oneSet(names, shardOf); err != nil {
		return nil, fmt.Errorf("%s: %w", index, err)
	}
	d := &Dir{path: path, of: map[string]*File{}}
	shards, errs := d.openAll(names, shardOf)
	if exists(filepath.Join(path, singleName)) && shards[singleName] == nil {
		errs = append(errs, fmt.Errorf("%s: lies beside an index that does not name it: which one is the checkpoint?", singleName))
	}
	errs = append(errs, unlisted(shards, shardOf)...)
	errs = append(errs, absent(names, shards, shardOf)...)
	if len(errs) > 0 {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, checkpoint.Join(errs)), d.Close())
	}
	return d, nil
}

// shardName is what writers of shards call them: which of how many.
var shardName = regexp.MustCompile(`-of-(\d+)\.safetensors$`)

// oneSet checks that the shards of an index, where their names say of how many they are, agree in that: else they are of two
// checkpoints.
func oneSet(names []string, shardOf map[string]string) error {
	var first, of string
	for _, name := range names {
		shard := shardOf[name]
		m := shardName.FindStringSubmatch(shard)
		switch {
		case m == nil:
		case first == "":
			first, of = shard, m[1]
		case m[1] != of:
			return fmt.Errorf("names %s and %s: shards of two checkpoints", first, shard)
		}
	}
	return nil
}

// openAll opens the shards in the order of their names. One that can't be opened is an error and not in the map.
func (d *Dir) openAll(names []string, shardOf map[string]string) (shards map[string]*File, errs []error) {
	count := map[string]int{}
	var order []string
	for _, name := range names {
		if shard := shardOf[name]; count[shard] == 0 {
			order = append(order, shard)
		}
		count[shardOf[name]]++
	}
	slices.Sort(order)
	shards = map[string]*File{}
	for _, shard := range order {
		f, err := Open(filepath.Join(d.path, shard))
		if err != nil {
			errs = append(errs, fmt.Errorf("shard of %d tensors: %w", count[shard], err))
			continue
		}
		shards[shard] = f
		d.add(f)
	}
	return shards, errs
}

// unlisted names the tensors of shards that the index does not put there.
func unlisted(shards map[string]*File, shardOf map[string]string) (errs []error) {
	for _, shard := range sorted(shards) {
		for _, name := range shards[shard].header.names {
			switch listed, ok := shardOf[name]; {
			case !ok:
				errs = append(errs, fmt.Errorf("%s: tensor %q: is not in the index", shard, name))
			case listed != shard:
				errs = append(errs, fmt.Errorf("%s: tensor %q: the index puts it in %s", shard, name, listed))
			}
		}
	}
	return errs
}

// absent names the tensors that the index puts in a shard that opened but doesn't have them.
func absent(names []string, shards map[string]*File, shardOf map[string]string) (errs []error) {
	for _, name := range names {
		f := shards[shardOf[name]]
		if f == nil {
			continue // the shard is an error by itself
		}
		if _, ok := f.header.index[name]; !ok {
			errs = append(errs, fmt.Errorf("%s: tensor %q: is in the index but not in the shard", shardOf[name], name))
		}
	}
	return errs
}

func sorted(shards map[string]*File) []string {
	var names []string
	for name := range shards {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// readIndex returns the names of an index in their order, and the shard of each.
func readIndex(path string) (names []string, shardOf map[string]string, err error) {
	buf, err := readSmall(path)
	if err != nil {
		return nil, nil, err
	}
	if !utf8.Valid(buf) {
		return nil, nil, fmt.Errorf("is not UTF-8")
	}
	var index struct {
		WeightMap json.RawMessage `json:"weight_map"`
	}
	if err := json.Unmarshal(buf, &index); err != nil {
		return nil, nil, err
	}
	if index.WeightMap == nil {
		return nil, nil, fmt.Errorf("has no weight_map")
	}
	if err := oneOfEach(buf); err != nil {
		return nil, nil, err
	}
	s := &scanner{buf: index.WeightMap}
	names, shardOf = s.texts()
	s.end()
	if s.err != nil {
		return nil, nil, fmt.Errorf("weight_map: %w", s.err)
	}
	for _, name := range names {
		if shard := shardOf[name]; !plainName(shard) {
			return nil, nil, fmt.Errorf("tensor %q: its shard is %q, want the name of a file beside the index", name, shard)
		}
	}
	return names, shardOf, nil
}

// oneOfEach refuses an index with a key that comes twice, also in other letters: decoding takes the last and says nothing.
func oneOfEach(index []byte) error {
	d := json.NewDecoder(bytes.NewReader(index))
	_, err := d.Token() // the brace
	seen := map[string]bool{}
	for err == nil && d.More() {
		var key json.Token
		var value json.RawMessage
		if key, err = d.Token(); err == nil {
			err = d.Decode(&value)
		}
		folded := strings.ToLower(fmt.Sprint(key))
		if seen[folded] {
			return fmt.Errorf("%q comes twice", key)
		}
		seen[folded] = true
	}
	return err
}

// readSmall reads a file no larger than a header may be.
func readSmall(path string) ([]byte, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if st.Size() > maxHeaderBytes {
		return nil, fmt.Errorf("is %d bytes, want at most %d", st.Size(), maxHeaderBytes)
	}
	return os.ReadFile(path)
}

// plainName reports whether name can only be a file of the directory itself.
func plainName(name string) bool {
	return filepath.IsLocal(name) && filepath.Base(name) == name && name != "."
}

// Names returns all names, shard by shard, in the order of the headers.
func (d *Dir) Names() []string { return slices.Clone(d.names) }

// Info returns format and shape of a tensor.
func (d *Dir) Info(name string) (checkpoint.Info, bool) {
	if f := d.of[name]; f != nil {
		return f.Info(name)
	}
	return checkpoint.Info{}, false
}

// Tensor returns a tensor as [File.Tensor] does.
func (d *Dir) Tensor(name string) (*tensor.Tensor, error) {
	if f := d.of[name]; f != nil {
		return f.Tensor(name)
	}
	return nil, fmt.Errorf("%s: tensor %q: is not there", d.path, name)
}

// Close closes all files.
func (d *Dir) Close() error {
	var errs []error
	for _, f := range d.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
