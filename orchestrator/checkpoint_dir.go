package orchestrator

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// tmpPrefix begins the names of checkpoints that are not whole: those being written, and those being removed.
const tmpPrefix = "tmp-"

// checkpoints returns the whole checkpoints of dir by cycle, ascending.
func checkpoints(dir string) (map[int]string, []int, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, nil
	}
	found := map[int]string{}
	var cycles []int
	for _, e := range entries {
		n, ok := strings.CutPrefix(e.Name(), "step-")
		if c, bad := strconv.Atoi(n); ok && bad == nil && e.IsDir() {
			found[c] = filepath.Join(dir, e.Name())
			cycles = append(cycles, c)
		}
	}
	slices.Sort(cycles)
	return found, cycles, err
}

// Newest returns the cycle of the newest checkpoint in dir, 0 if there is none. Whether it is whole shows when it is loaded.
func Newest(dir string) (int, error) {
	_, cycles, err := checkpoints(dir)
	if err != nil || len(cycles) == 0 {
		return 0, err
	}
	return cycles[len(cycles)-1], nil
}

// Checkpoint returns where the checkpoint of a cycle lies in dir.
func Checkpoint(dir string, cycle int) string {
	return filepath.Join(dir, fmt.Sprintf("step-%06d", cycle))
}

// Find returns the checkpoint that path means: itself; or of a folder of checkpoints, or the directory of a run, that of a cycle, or the newest for cycle 0.
func Find(path string, cycle int) (string, error) {
	if _, err := os.Stat(filepath.Join(path, manifestFile)); err == nil {
		return itself(path, cycle)
	}
	dir := path
	if _, err := os.Stat(filepath.Join(path, "checkpoints")); err == nil {
		dir = filepath.Join(path, "checkpoints")
	}
	found, cycles, err := checkpoints(dir)
	switch {
	case err != nil:
		return "", err
	case len(cycles) == 0:
		return "", fmt.Errorf("%s holds no checkpoint", path)
	case cycle == 0:
		return found[cycles[len(cycles)-1]], nil
	case found[cycle] == "":
		return "", fmt.Errorf("%s holds no checkpoint of cycle %d, but of %v", path, cycle, cycles)
	}
	return found[cycle], nil
}

// itself returns the checkpoint at path if it is of a cycle, or none is named.
func itself(path string, cycle int) (string, error) {
	s, err := readState(path)
	if err == nil && cycle != 0 && s.Cycle != cycle {
		err = fmt.Errorf("checkpoint %s is of cycle %d, want %d", path, s.Cycle, cycle)
	}
	return path, err
}

// prune removes old checkpoints, and what killed writers left.
func prune(dir string, s Saving) error {
	found, cycles, err := checkpoints(dir)
	for _, c := range cycles[:max(0, len(cycles)-s.Keep)] {
		if s.Retain == 0 || c%s.Retain != 0 {
			err = errors.Join(err, discard(found[c]))
		}
	}
	entries, bad := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), tmpPrefix) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(err, bad)
}

// discard takes a checkpoint's name away before it takes its files: half of one never has the name of a whole one.
func discard(dir string) error {
	gone := filepath.Join(filepath.Dir(dir), tmpPrefix+"old-"+filepath.Base(dir))
	if err := errors.Join(os.RemoveAll(gone), os.Rename(dir, gone)); err != nil {
		return err
	}
	return os.RemoveAll(gone)
}

// replacedPrefix begins the names of whole checkpoints that are giving way to newer ones of the same cycle.
const replacedPrefix = tmpPrefix + "replaced-"

// publishDir puts a finished directory in the place of final and forces the rename to the disk. What was there goes when the new one has its name: a kill
// between the two is what Mend is for.
func publishDir(tmp, final string) error {
	old := filepath.Join(filepath.Dir(final), replacedPrefix+filepath.Base(final))
	if _, err := os.Lstat(final); err == nil {
		if err := errors.Join(os.RemoveAll(old), os.Rename(final, old)); err != nil {
			return err
		}
	}
	if err := os.Rename(tmp, final); err != nil {
		return err
	}
	parent, err := os.Open(filepath.Dir(final))
	if err != nil {
		return err
	}
	return errors.Join(parent.Sync(), parent.Close(), os.RemoveAll(old))
}

// Mend gives checkpoints their names back that a kill took when newer ones of the same cycle were to have them. Nobody may be writing into dir.
func Mend(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		name, ok := strings.CutPrefix(e.Name(), replacedPrefix)
		if _, gone := os.Lstat(filepath.Join(dir, name)); ok && errors.Is(gone, os.ErrNotExist) {
			err = errors.Join(err, os.Rename(filepath.Join(dir, e.Name()), filepath.Join(dir, name)))
		}
	}
	return err
}
