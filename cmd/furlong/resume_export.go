package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// completeMarker is in a directory of --save-hf once it is whole: readers wait for it.
const completeMarker = ".complete"

// exportDir returns where --save-hf wants the weights after a cycle.
func exportDir(template string, cycle int) string {
	return strings.NewReplacer("{cycle}", strconv.Itoa(cycle), "{rollout_id}", strconv.Itoa(cycle-1)).Replace(template)
}

// export copies the model of a checkpoint to where --save-hf wants it. The checkpoint gets its name afterwards, so that each one that has it has its export.
func (j *job) export(ctx context.Context, cycle int, checkpoint string) error {
	to := exportDir(j.f.run.Save.HF, cycle)
	if err := clearExport(to); err != nil {
		return fmt.Errorf("--save-hf: %w", err)
	}
	if err := copyModel(ctx, to, filepath.Join(checkpoint, "trainer", "model")); err != nil {
		return fmt.Errorf("--save-hf: %w", err)
	}
	return nil
}

// clearExport removes what an earlier start of the run wrote into dir, the marker first. Anything else is left, and refused.
func clearExport(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		ours := strings.HasPrefix(e.Name(), "model") || slices.Contains([]string{"config.json", completeMarker}, e.Name())
		if !ours || e.IsDir() {
			return fmt.Errorf("%s holds %s, want a directory for this run's weights alone", dir, e.Name())
		}
	}
	if err := os.Remove(filepath.Join(dir, completeMarker)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.RemoveAll(dir)
}

// copyModel copies the files of a directory, and marks the copy when all of it is on the disk.
func copyModel(ctx context.Context, to, from string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		err := copyFile(filepath.Join(to, e.Name()), filepath.Join(from, e.Name()))
		if err := errors.Join(err, ctx.Err()); err != nil {
			return err
		}
	}
	if err := syncFolder(to); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(to, completeMarker), nil, 0o644); err != nil {
		return err
	}
	return syncFolder(to)
}

// copyFile copies a file and forces it to the disk.
func copyFile(to, from string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Sync(), dst.Close())
}

func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
