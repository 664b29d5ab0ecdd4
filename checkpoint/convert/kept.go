package convert

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"furlong/checkpoint"
	"furlong/checkpoint/safetensors"
)

// apart refuses a destination that cannot get its name in one step, or that would count among the source's files.
func apart(from, to string) error {
	if base := filepath.Base(to); base == "." || base == ".." {
		return fmt.Errorf("%s: want a directory by its name, which it gets when it is whole", to)
	}
	source, err := resolve(from)
	if err != nil {
		return err
	}
	above, err := resolve(filepath.Dir(to))
	if err != nil {
		return unwritable(to, err)
	}
	if rel, err := filepath.Rel(source, above); err == nil && filepath.IsLocal(rel) {
		return fmt.Errorf("%s: lies in the source %s, want a directory outside of it", to, from)
	}
	return nil
}

// unwritable says why a destination can't be begun, whichever of the files beside it that was found with.
func unwritable(to string, err error) error {
	if file, ok := errors.AsType[*fs.PathError](err); ok {
		err = file.Err
	}
	return fmt.Errorf("%s: can't be written in %s: %w", to, filepath.Dir(to), err)
}

// resolve returns the one name of a directory.
func resolve(dir string) (string, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

// sums returns the SHA-256 of every tensor that an earlier attempt left in shards that are whole. Nothing else lies in the stage of a
// destination that was just begun or gone on with.
func sums(ctx context.Context, stage string) (map[string]string, error) {
	list, err := os.ReadDir(stage)
	if err != nil {
		return nil, err
	}
	of := map[string]string{}
	for _, e := range list {
		if err := addSums(ctx, filepath.Join(stage, e.Name()), of); err != nil {
			return nil, err
		}
	}
	return of, nil
}

// addSums adds those of one shard.
func addSums(ctx context.Context, path string, of map[string]string) (err error) {
	f, err := safetensors.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for _, name := range f.Names() {
		if err := ctx.Err(); err != nil {
			return err
		}
		t, err := f.Tensor(name)
		if err != nil {
			return err
		}
		of[name] = describe(name, t).SHA256
	}
	return nil
}

// held holds what an earlier attempt left of a unit against the unit's record.
func (c *converter) held(rec record) error {
	stage := safetensors.Stage(c.to)
	for _, t := range rec.Wrote {
		if sum, ok := c.kept[t.Name]; ok && sum != t.SHA256 {
			return fmt.Errorf("%s: tensor %q: holds other bytes than were written; remove %s and %s.jsonl to begin anew", stage, t.Name, stage, stage)
		}
	}
	return nil
}

// Check reads the destination of a conversion again and names the tensors that are not what was written.
func (r *Report) Check(dir string) (err error) {
	src, err := safetensors.OpenDir(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	var errs []error
	for _, want := range r.Wrote {
		t, err := src.Tensor(want.Name)
		if err == nil && describe(want.Name, t).SHA256 != want.SHA256 {
			err = fmt.Errorf("tensor %q: holds other bytes than were written", want.Name)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", dir, err))
		}
	}
	return checkpoint.Join(errs)
}
