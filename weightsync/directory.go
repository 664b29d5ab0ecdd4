package weightsync

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"furlong/rl"
)

// A version in a directory is a folder of its own: the manifest, and a file of chunks for each bucket. It appears whole or not at all.
const (
	dirPrefix    = "version-"
	manifestFile = "manifest.fwm"
)

func bucketFile(i int) string { return fmt.Sprintf("bucket-%05d.fwc", i) }

// DirName returns the name of a version's folder.
func DirName(v rl.Version) string { return dirPrefix + v.String() }

// WriteDir writes w into a folder of its own below root and returns the folder's path, when disk has all of it. A version that is there
// already is an error.
func WriteDir(ctx context.Context, root string, w rl.Weights) (path string, err error) {
	path = filepath.Join(root, DirName(w.Version()))
	if _, err := os.Lstat(path); err == nil {
		return "", fmt.Errorf("%s: %w", path, fs.ErrExist)
	}
	temp, err := os.MkdirTemp(root, "."+DirName(w.Version())+"-")
	if err != nil {
		return "", err
	}
	if err := writeFiles(ctx, temp, w); err != nil {
		return "", errors.Join(fmt.Errorf("%s: %w", path, err), os.RemoveAll(temp))
	}
	if err := os.Rename(temp, path); err != nil {
		return "", errors.Join(err, os.RemoveAll(temp))
	}
	if err := syncDir(root); err != nil {
		return "", fmt.Errorf("%s: is written, but perhaps not durable: %w", path, err)
	}
	return path, nil
}

func writeFiles(ctx context.Context, dir string, w rl.Weights) error {
	manifest, err := w.Manifest(ctx)
	if err != nil {
		return err
	}
	i := 0
	for bucket, err := range w.Buckets(ctx) {
		if err != nil {
			return err
		}
		write := func(out io.Writer) error { return writeBucket(out, bucket) }
		if err := writeFile(filepath.Join(dir, bucketFile(i)), write); err != nil {
			return err
		}
		i++
	}
	write := func(out io.Writer) error { _, err := out.Write(manifest); return err }
	if err := errors.Join(writeFile(filepath.Join(dir, manifestFile), write), os.Chmod(dir, 0o755)); err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir waits until the disk has the names in a directory.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// writeFile writes a file and waits until the disk has it: a folder under its final name must not lose to a power failure what it holds.
func writeFile(path string, write func(io.Writer) error) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out := bufio.NewWriterSize(f, 1<<20)
	if err := write(out); err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return f.Sync()
}

// OpenDir returns the version in a folder that WriteDir made. Its files are read when it is.
func OpenDir(path string) (rl.Weights, error) {
	raw, err := os.ReadFile(filepath.Join(path, manifestFile))
	if err != nil {
		return nil, err
	}
	m, err := ParseManifest(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &folder{path, m.Version, raw}, nil
}

// folder is a version in files.
type folder struct {
	path     string
	v        rl.Version
	manifest []byte
}

func (d *folder) Version() rl.Version { return d.v }

func (d *folder) Manifest(context.Context) ([]byte, error) { return d.manifest, nil }

// Buckets yields each file as a bucket.
func (d *folder) Buckets(ctx context.Context) iter.Seq2[[]rl.Chunk, error] {
	return func(yield func([]rl.Chunk, error) bool) {
		var buf []byte
		for i := 0; ; i++ {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			bucket, again, err := readBucket(filepath.Join(d.path, bucketFile(i)), buf)
			if errors.Is(err, fs.ErrNotExist) {
				return // whether that was all, the manifest knows
			}
			if err != nil {
				yield(nil, fmt.Errorf("%s: %w", bucketFile(i), err))
				return
			}
			if buf = again; !yield(bucket, nil) {
				return
			}
		}
	}
}

// readBucket reads a file of chunks into buf, or larger memory, which it returns.
func readBucket(path string, buf []byte) (bucket []rl.Chunk, again []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, buf, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, buf, err
	}
	if !info.Mode().IsRegular() {
		return nil, buf, fmt.Errorf("is %v, want a plain file", info.Mode())
	}
	if buf, err = readPayload(f, buf, int(info.Size())); err != nil {
		return nil, buf, err
	}
	bucket, err = parseBucket(buf)
	return bucket, buf, err
}

// parseBucket takes chunks apart that lie end to end. They share its memory.
func parseBucket(b []byte) (bucket []rl.Chunk, err error) {
	for len(b) > 0 {
		r := bytes.NewReader(b)
		f, err := readFrame(r)
		if err != nil {
			return nil, fmt.Errorf("chunk %d: %w", len(bucket), torn(err))
		}
		if f.magic != chunkMagic {
			return nil, fmt.Errorf("chunk %d: begins with %s, want %s", len(bucket), f.magic, chunkMagic)
		}
		c, err := f.chunk()
		if err != nil {
			return nil, fmt.Errorf("chunk %d: %w", len(bucket), err)
		}
		b = b[len(b)-r.Len():]
		if f.payload > len(b) {
			return nil, fmt.Errorf("%s: the file ends after %d of a chunk's %d bytes", c.Name, len(b), f.payload)
		}
		c.Data, b = b[:f.payload:f.payload], b[f.payload:]
		bucket = append(bucket, c)
	}
	return bucket, nil
}
