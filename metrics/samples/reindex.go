package samples

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
)

// A Report says what [Reindex] did.
type Report struct {
	Rows   int     // in the new index
	Bodies int     // bodies that the old index did not know
	Lost   []error // pieces of the old index that could not be read; rows in them whose bodies are gone are lost
}

// Reindex makes an index in the folder out from what is sound of the old one and from the bodies in dir. out must not be
// there yet, and dir may be read-only. With out empty the new index takes the place of the old one; no writer may have it open then.
func Reindex(dir, out string, log *slog.Logger) (Report, error) {
	place := filepath.Join(dir, "index")
	if err := restore(place); err != nil {
		return Report{}, err
	}
	inPlace := out == ""
	if inPlace {
		out = place + ".new"
		if err := os.RemoveAll(out); err != nil { // of a reindex that was killed
			return Report{}, err
		}
	}
	if _, err := os.Stat(out); err == nil {
		return Report{}, fmt.Errorf("%s is there already, want a new folder", out)
	}
	rep, err := rebuild(dir, place, out, log)
	if err != nil || !inPlace {
		return rep, err
	}
	return rep, swap(out, place)
}

func rebuild(dir, from, to string, log *slog.Logger) (rep Report, err error) {
	old, err := OpenIndex(from)
	if err != nil {
		return rep, err
	}
	x, err := openIndexer(to, dir, log)
	if err != nil {
		return rep, errors.Join(err, old.Close())
	}
	sets := lostSets(old, dir)
	for r := range old.records() {
		if x.known[r.key(sets)] {
			continue
		}
		if err := x.add(r, sets); err != nil {
			return rep, errors.Join(err, x.close(), old.Close())
		}
	}
	rep.Lost = old.Problems
	rep.Bodies, err = x.heal(dir, log)
	rep.Rows = x.added
	return rep, errors.Join(err, x.close(), old.Close())
}

// aside is what an index is called while another takes its place.
const aside = ".old"

// restore puts an index back that a crash in the middle of swap left aside.
func restore(place string) error {
	if _, err := os.Stat(place); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Rename(place+aside, place); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// swap puts the folder next in the place of old.
func swap(next, old string) error {
	aside := old + aside
	if err := os.RemoveAll(aside); err != nil {
		return err
	}
	if err := os.Rename(old, aside); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Rename(next, old); err != nil {
		return err
	}
	return os.RemoveAll(aside)
}
