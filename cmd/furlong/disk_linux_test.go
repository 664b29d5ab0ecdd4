package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"furlong/orchestrator"
)

// Where a checkpoint cannot be written whole, the run ends and says so, the one before stays whole, and once there is room again the run goes on as
// if nothing had happened.
func TestNoRoomForACheckpoint(t *testing.T) {
	model := tiny(t)
	want := trainTiny(t, model)
	for _, tt := range []struct {
		name, says, save string
		where            string // what of the error names the save
		room             func(t *testing.T) (dir string, cramped func(args []string) *exec.Cmd, free func())
	}{
		{"full disk", "no space left on device", "--no-async-save", "furlong train: cycle 9: save: ", smallDisk},
		{"limit of a file's size", "file too large", "--no-async-save", "furlong train: cycle 9: save: ", smallFiles},
		{"full disk, beside the run", "no space left on device", "--async-save", "step-000009 beside the run: ", smallDisk},
		{"limit of a file's size, beside the run", "file too large", "--async-save", "step-000009 beside the run: ", smallFiles},
	} {
		t.Run(tt.name, func(t *testing.T) {
			unlessShort(t, "limit_of_a_file's_size")
			t.Parallel()
			dir, cramped, free := tt.room(t)
			succeed(t, flags(model, dir, "--num-rollout", "8")...)
			out, err := cramped(flags(model, dir, "--resume", tt.save)).CombinedOutput()
			if err == nil || !strings.Contains(string(out), tt.says) || !strings.Contains(string(out), tt.where) {
				t.Errorf("ends with %v, want an error of saving that says %q:\n%s", err, tt.says, out)
			}
			saved, err := orchestrator.ReadSaved(filepath.Join(checkpoints(dir), "step-000008"))
			if err != nil || saved.Cycle != 8 || len(saved.Damage) > 0 {
				t.Errorf("the checkpoint before is %+v, %v", saved, err)
			}
			if at, err := orchestrator.Newest(checkpoints(dir)); at != 8 || err != nil {
				t.Errorf("newest checkpoint is of cycle %d, %v, want 8", at, err)
			}
			free()
			sameRun(t, finished{dir, succeed(t, flags(model, dir, "--resume")...)}, want)
		})
	}
}

// Wherever a disk fills up, in the middle of a line, of samples or of a checkpoint, what was written before is whole and the run goes on later.
func TestDiskFillsUp(t *testing.T) {
	model := tiny(t)
	want := trainTiny(t, model)
	for _, pages := range []int64{0, 1, 3, 8, 20} {
		t.Run(fmt.Sprintf("%d pages", pages), func(t *testing.T) {
			unlessShort(t, "3_pages")
			t.Parallel()
			disk := mount(t, 0)
			dir, ballast := filepath.Join(disk, "run"), filepath.Join(disk, "ballast")
			succeed(t, flags(model, dir, "--num-rollout", "8")...)
			fill(t, ballast, disk, pages)
			refuse(t, exitFailed, flags(model, dir, "--resume"), "no space left on device")
			if err := os.Remove(ballast); err != nil {
				t.Fatal(err)
			}
			sameRun(t, finished{dir, succeed(t, flags(model, dir, "--resume")...)}, want)
		})
	}
}

func TestReadOnlyDisk(t *testing.T) {
	model, disk := tiny(t), mount(t, syscall.MS_RDONLY)
	refuse(t, exitFailed, flags(model, filepath.Join(disk, "run")), "furlong train: mkdir ", "read-only file system")
}

// mount returns a file system of its own, of four megabytes.
func mount(t *testing.T, how uintptr) string {
	t.Helper()
	disk := t.TempDir()
	if err := syscall.Mount("none", disk, "tmpfs", how, "size=4m"); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Error(err)
		}
	})
	return disk
}

// smallDisk returns a run directory on a file system of its own, which is filled to a few pages before the program starts.
func smallDisk(t *testing.T) (dir string, cramped func([]string) *exec.Cmd, free func()) {
	disk := mount(t, 0)
	ballast := filepath.Join(disk, "ballast")
	cramped = func(args []string) *exec.Cmd {
		fill(t, ballast, disk, 30)
		return exec.Command("furlong", args...)
	}
	return filepath.Join(disk, "run"), cramped, func() { os.Remove(ballast) }
}

// fill writes a file that leaves the given number of pages of a disk free.
func fill(t *testing.T, path, disk string, pages int64) {
	t.Helper()
	var s syscall.Statfs_t
	if err := syscall.Statfs(disk, &s); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, make([]byte, (int64(s.Bavail)-pages)*s.Bsize), 0o644); err != nil {
		t.Fatal(err)
	}
}

// smallFiles returns a run directory, and has the program started with a limit that the optimizer's file exceeds.
func smallFiles(t *testing.T) (dir string, cramped func([]string) *exec.Cmd, free func()) {
	const kilobytes = 50
	cramped = func(args []string) *exec.Cmd {
		return exec.Command("bash", append([]string{"-c", "ulimit -f " + strconv.Itoa(kilobytes) + `; exec furlong "$@"`, "bash"}, args...)...)
	}
	return filepath.Join(t.TempDir(), "run"), cramped, func() {}
}
