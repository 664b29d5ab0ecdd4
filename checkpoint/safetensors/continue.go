package safetensors

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"furlong/checkpoint"
)

// Stage returns where [ContinueDir] writes what is to become dir.
func Stage(dir string) string { return filepath.Clean(dir) + ".part" }

// ContinueDir begins a directory as [CreateDir] does, or goes on with one that was left half-written. It writes to dir's [Stage], which
// outlives errors and killed processes: shards in it under their final names are whole. The caller knows that they hold what it would
// write again; their names, formats and shapes are checked here. One process at a time writes.
func ContinueDir(dir string, entries []checkpoint.Entry, metadata map[string]string, shardBytes int64) (*DirWriter, error) {
	d, err := newDir(dir, entries, metadata, shardBytes)
	if err != nil {
		return nil, err
	}
	d.stage, d.keep = Stage(dir), true
	if err := os.MkdirAll(d.stage, 0o777); err != nil {
		return nil, err
	}
	if err := d.tidy(); err != nil {
		return nil, fmt.Errorf("%s: %w", d.stage, err)
	}
	return d, nil
}

// tidy finds the whole shards of a stage and removes the beginnings of others.
func (d *DirWriter) tidy() error {
	list, err := os.ReadDir(d.stage)
	if err != nil {
		return err
	}
	for _, e := range list {
		path := filepath.Join(d.stage, e.Name())
		i := slices.IndexFunc(d.shards, func(s *shard) bool { return s.name == e.Name() })
		if i < 0 {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
			continue
		}
		if err := d.shards[i].adopt(path); err != nil {
			return err
		}
	}
	return nil
}

// adopt takes a file for the whole shard, if it holds what the shard is to hold.
func (s *shard) adopt(path string) (err error) {
	f, err := Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	want, err := place(s.entries)
	if err != nil {
		return err
	}
	if !slices.Equal(f.header.names, want.names) {
		return fmt.Errorf("%s: holds other tensors than it is to hold", s.name)
	}
	for i, span := range want.spans {
		if got := f.header.spans[i]; !got.Equal(span.Info) {
			return fmt.Errorf("%s: tensor %q: is %v, want %v", s.name, want.names[i], got.Info, span.Info)
		}
	}
	s.left, s.whole = 0, true
	return nil
}

// Has reports whether a tensor lies in a shard that is whole and on the disk.
func (d *DirWriter) Has(name string) bool {
	s := d.of[name]
	return s != nil && s.whole
}

// Suspend gives up for now: what is whole stays for [ContinueDir].
func (d *DirWriter) Suspend() {
	if d.err == nil {
		d.keep = true
		_ = d.fail(errors.New("is suspended")) // removes the beginnings of shards
	}
}
