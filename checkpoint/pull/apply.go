package pull

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"furlong/checkpoint/safetensors"
)

// A change is one tensor of a delta.
type change struct {
	name string
	blob []byte // compressed
	sum  string // of the new bytes
	old  []byte // as the local file has them, which is mapped
	file int    // the local file
	at   int64  // where they lie in it
}

// apply takes up one delta. Every tensor is computed and compared first, and only then written.
func apply(ctx context.Context, local, dir string, v int) (tensors int, size int64, err error) {
	d, err := readIndex(dir)
	switch {
	case err != nil:
		return 0, 0, err
	case d == nil:
		return 0, 0, errors.New("is a whole version, want a delta")
	case d.version != v || d.base != v-1:
		return 0, 0, fmt.Errorf("says that it is version %d over version %d, want %d over %d", d.version, d.base, v, v-1)
	}
	delta, err := openDelta(dir)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, delta.close()) }()
	target, err := openShards(local)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, target.close()) }()
	changes, err := plan(delta, target)
	if err != nil {
		return 0, 0, err
	}
	if err := d.verify(ctx, changes); err != nil {
		return 0, 0, err
	}
	size, err = d.write(local, target.paths, changes)
	return len(changes), size, errors.Join(err, noteIf(err == nil, local, v))
}

func noteIf(ok bool, local string, v int) error {
	if !ok {
		return nil
	}
	return note(local, v)
}

// openDelta opens the files of a delta, which the index names and which hold exactly what it says.
func openDelta(dir string) (*shards, error) {
	if _, err := plainFiles(dir, false); err != nil {
		return nil, err
	}
	src, err := safetensors.OpenDir(dir)
	if err != nil {
		return nil, err
	}
	indexed := src.Names()
	if err := src.Close(); err != nil {
		return nil, err
	}
	s, err := openShards(dir)
	if err != nil {
		return nil, err
	}
	if len(indexed) != len(s.of) {
		return nil, errors.Join(fmt.Errorf("its files have %d tensors, its index names %d", len(s.of), len(indexed)), s.close())
	}
	return s, nil
}

// plan finds what the tensors of a delta change.
func plan(delta, target *shards) (list []change, err error) {
	var errs []error
	for i, f := range delta.files {
		sums := f.Metadata()
		for _, name := range f.Names() {
			c, err := target.find(name)
			if err == nil {
				c.blob, err = bytesOf(delta.files[i], name)
			}
			if c.sum = sums[name]; err == nil && c.sum == "" {
				err = errors.New("has no checksum")
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("tensor %q: %w", name, err))
			}
			list = append(list, c)
		}
	}
	if n := len(errs); n > 3 {
		errs = append(errs[:3], fmt.Errorf("and %d more", n-3))
	}
	return list, errors.Join(errs...)
}

func bytesOf(f *safetensors.File, name string) ([]byte, error) {
	x, err := f.Tensor(name)
	if err != nil {
		return nil, err
	}
	return x.Mem, nil
}

// find returns where a tensor lies.
func (s *shards) find(name string) (change, error) {
	i, ok := s.of[name]
	if !ok {
		return change{name: name}, errors.New("is not in the checkpoint that it changes")
	}
	old, err := bytesOf(s.files[i], name)
	at, _, _ := s.files[i].Where(name)
	return change{name: name, old: old, file: i, at: at}, err
}

// verify computes the new bytes of every tensor and compares their checksums.
func (d *delta) verify(ctx context.Context, changes []change) error {
	var wrong []string
	for _, c := range changes {
		if err := ctx.Err(); err != nil {
			return err
		}
		fresh, err := d.fresh(c.old, c.blob)
		if err != nil {
			return fmt.Errorf("tensor %q: %w", c.name, err)
		}
		if got := d.sum(fresh); got != c.sum {
			wrong = append(wrong, fmt.Sprintf("tensor %q: checksum is %s, want %.64s", c.name, got, c.sum))
		}
	}
	slices.Sort(wrong)
	if n := len(wrong); n > 3 {
		wrong = append(wrong[:3], fmt.Sprintf("and %d more", n-3))
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}

// write puts the new bytes in the old ones' place. Meanwhile the folder holds no version.
func (d *delta) write(local string, paths []string, changes []change) (size int64, err error) {
	if len(changes) == 0 {
		return 0, nil
	}
	if err := forget(local); err != nil {
		return 0, err
	}
	files := make([]*os.File, len(paths))
	defer func() {
		for _, f := range files {
			if f != nil {
				err = errors.Join(err, f.Sync(), f.Close())
			}
		}
	}()
	for _, c := range changes {
		if files[c.file] == nil {
			if files[c.file], err = os.OpenFile(paths[c.file], os.O_WRONLY, 0); err != nil {
				return 0, err
			}
		}
		fresh, err := d.fresh(c.old, c.blob)
		if err != nil {
			return 0, fmt.Errorf("tensor %q: %w", c.name, err)
		}
		if _, err := files[c.file].WriteAt(fresh, c.at); err != nil {
			return 0, err
		}
		size += int64(len(fresh))
	}
	return size, nil
}
