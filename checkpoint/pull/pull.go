package pull

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"furlong/checkpoint/safetensors"
)

// A Request says which folder is to hold which version.
type Request struct {
	Local   string // the folder that is kept
	Base    string // the checkpoint that is version 0; "" if there is none
	Source  string // where versions are published
	Version int
}

// A Result is what was done.
type Result struct {
	From, To int // versions of the local folder before and after; From is -1 if it held none
	Copied   int // the whole version that was copied; -1 if none was
	Deltas   int // taken up
	Tensors  int // changed by them
	Bytes    int64
}

// String says it in a line.
func (r Result) String() string {
	if r.From == r.To && r.Copied < 0 {
		return fmt.Sprintf("version %d is held already", r.To)
	}
	begin := fmt.Sprintf("from version %d", r.From)
	if r.Copied >= 0 {
		begin = fmt.Sprintf("copied version %d", r.Copied)
	}
	return fmt.Sprintf("%s, took up %d deltas that changed %d tensors (%d bytes), version %d is held", begin, r.Deltas, r.Tensors, r.Bytes, r.To)
}

// none is the version of a folder that holds none.
const none = -1

// Pull makes r.Local hold r.Version, or leaves it at the last version that it could reach. A local folder that is further already stays as it is, but for
// version 0, which begins anew.
func Pull(ctx context.Context, r Request) (Result, error) {
	res := Result{From: none, To: none, Copied: none}
	if err := r.check(); err != nil {
		return res, err
	}
	unlock, err := r.lock(ctx)
	if err != nil {
		return res, err
	}
	defer unlock()
	held, err := Applied(r.Local)
	if err != nil {
		return res, err
	}
	res.From, res.To = held, held
	if r.Version == 0 && held > 0 {
		held = none
	}
	start, err := r.newestWhole(held)
	if err != nil {
		return res, err
	}
	if held == none || start > held {
		if err := r.begin(ctx, start); err != nil {
			return res, err
		}
		res.Copied, res.To, held = start, start, start
	}
	return res, r.follow(ctx, held, &res)
}

// follow takes up the deltas behind a version.
func (r Request) follow(ctx context.Context, held int, res *Result) error {
	for v := held + 1; v <= r.Version; v++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, size, err := apply(ctx, r.Local, r.published(v), v)
		if err != nil {
			return errors.Join(fmt.Errorf("%s: %w", r.published(v), err), r.left())
		}
		res.Deltas, res.Tensors, res.Bytes, res.To = res.Deltas+1, res.Tensors+n, res.Bytes+size, v
	}
	return nil
}

// left says what the local folder holds after an error.
func (r Request) left() error {
	held, err := Applied(r.Local)
	if err == nil && held == none {
		return fmt.Errorf("%s holds no version now; the next pull begins at a whole one", r.Local)
	}
	if err == nil {
		return fmt.Errorf("%s stays at version %d", r.Local, held)
	}
	return err
}

// check refuses folders that would overwrite each other.
func (r Request) check() error {
	switch {
	case r.Version < 0 || r.Version > 999_999:
		return fmt.Errorf("version is %d, want 0 to 999999", r.Version)
	case r.Local == "":
		return errors.New("the local folder has no name")
	case r.Source == "" && r.Version > 0:
		return errors.New("the folder of published versions has no name")
	}
	local, err := filepath.Abs(r.Local)
	if err != nil {
		return err
	}
	for _, other := range []string{r.Base, r.Source} {
		if other == "" {
			continue
		}
		full, err := filepath.Abs(other)
		if err != nil {
			return err
		}
		_, version := strings.CutPrefix(filepath.Base(local), "weight_v")
		if full == local || other == r.Source && filepath.Dir(local) == full && version {
			return fmt.Errorf("%s is also what is read from, want a folder of its own", r.Local)
		}
	}
	return nil
}

// published returns where a version lies.
func (r Request) published(v int) string {
	return filepath.Join(r.Source, fmt.Sprintf("weight_v%06d", v))
}

// newestWhole returns the newest whole version at or below the one wanted, or what is held if that is newer.
func (r Request) newestWhole(held int) (int, error) {
	for v := r.Version; v > max(held, 0); v-- {
		d, err := readIndex(r.published(v))
		if err != nil {
			return 0, err
		}
		if d == nil {
			return v, nil
		}
	}
	return max(held, 0), nil
}

// begin makes the local folder a copy of a whole version.
func (r Request) begin(ctx context.Context, v int) error {
	from, links := r.published(v), false
	if v == 0 {
		if from, links = r.Base, true; from == "" {
			return errors.New("version 0 is the checkpoint that is served from the start, which has no folder here: publish a whole version")
		}
	}
	src, err := safetensors.OpenDir(from) // every header agrees with its file's length, so nothing is cut
	if err != nil {
		return err
	}
	if err := src.Close(); err != nil {
		return err
	}
	if err := replace(ctx, r.Local, from, links); err != nil {
		return fmt.Errorf("copy %s to %s: %w", from, r.Local, err)
	}
	return note(r.Local, v)
}

// syncDir is the folder beside a checkpoint that says which version it is.
const syncDir = ".weight_sync"

// lock makes the local folder and keeps others from it. A folder with files that no pull put there is not ours to overwrite.
func (r Request) lock(ctx context.Context) (unlock func(), err error) {
	dir := filepath.Join(r.Local, syncDir)
	entries, err := os.ReadDir(r.Local)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	// A pull makes its own folder before anything else: asked for it last, one that begins at this moment is no stranger.
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) && len(entries) > 0 {
		return nil, fmt.Errorf("%s holds %s, which no pull put there: want an empty folder", r.Local, entries[0].Name())
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, err
	}
	if err := wait(ctx, f); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: somebody else pulls: %w", r.Local, err), f.Close())
	}
	return func() { _ = f.Close() }, nil // which ends the lock; nothing was written
}
