package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"furlong/dash/api"
	"furlong/dash/store"
	"furlong/metrics"
	rundir "furlong/metrics/run"
	"furlong/metrics/samples"
)

// A disk that fills up while somebody watches ends the run with an error, and the page says which: the one that was open, as its last word, and any other later.
// Nothing half-written stays.
func TestFullDiskUnderThePage(t *testing.T) {
	unlessShort(t)
	disk := mount(t, 0)
	dir, said := filepath.Join(disk, "run"), &bytes.Buffer{}
	c := exec.Command("furlong", flags(tiny(t), dir, "--num-rollout", "100000", "--dash-addr", "127.0.0.1:0")...)
	piped, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { c.Process.Kill(); c.Wait() }() // nobody may hold the disk that the end of the test takes away
	from := bufio.NewReader(io.TeeReader(piped, said))
	page := pageIn(t, from)
	rest := make(chan struct{})
	go func() { defer close(rest); io.Copy(io.Discard, from) }()
	last := watch(t, page, func() { pour(t, filepath.Join(disk, "ballast")) })
	<-rest
	if err := c.Wait(); c.ProcessState.ExitCode() != exitFailed || !strings.Contains(said.String(), "no space left on device") {
		t.Errorf("ends with %v, want an error:\n%s", err, said)
	}
	saysFull(t, "the page that was open", last)
	shelf, err := newShelf([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	defer shelf.Close()
	err = shelf.Use("run", func(r *store.Run) error {
		h, err := r.Head(false)
		if err == nil {
			saysFull(t, "a page that is opened later", h)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	wholeFiles(t, dir)
}

// pour writes until the disk is full, whoever else writes meanwhile.
func pour(t *testing.T, path string) {
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}

// pageIn reads lines until one names the page of the run.
func pageIn(t *testing.T, from *bufio.Reader) string {
	t.Helper()
	for {
		line, err := from.ReadString('\n')
		if err != nil {
			t.Fatalf("no page was named: %v", err)
		}
		if m := regexp.MustCompile(`page on (http://\S+?)/r/run/`).FindStringSubmatch(line); m != nil {
			return m[1] + "/api/r/run/events"
		}
	}
}

// watch follows a page's events to their end, does what is to be done after the third row, and returns the last head.
func watch(t *testing.T, page string, do func()) *api.Head {
	t.Helper()
	got, err := http.Get(page)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	lines := bufio.NewScanner(got.Body)
	lines.Buffer(nil, 4<<20)
	var last api.Head
	event, rows := "", 0
	for lines.Scan() {
		name, rest, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case name == "event":
			event = rest
		case name == "data" && event == "head":
			last = api.Head{}
			if err := json.Unmarshal([]byte(rest), &last); err != nil {
				t.Fatal(err)
			}
		case name == "data" && event == "row":
			if rows++; rows == 3 {
				do()
			}
		}
	}
	if rows < 3 {
		t.Fatalf("the page told of %d rows", rows)
	}
	return &last
}

func saysFull(t *testing.T, who string, h *api.Head) {
	t.Helper()
	text := ""
	for _, v := range h.Verdict {
		text += v.Big + ". " + v.Text + "\n"
	}
	if h.State != string(rundir.Failed) || !strings.Contains(h.Exit, "no space left on device") || !strings.Contains(text, "no space left on device") {
		t.Errorf("%s says that the run is %s (%q):\n%s", who, h.State, h.Exit, text)
	}
}

// wholeFiles looks for what was written by half.
func wholeFiles(t *testing.T, dir string) {
	t.Helper()
	_, bad, err := metrics.ReadRows(filepath.Join(dir, rundir.RowsFile))
	if err != nil || len(bad) > 0 {
		t.Errorf("rows: %v, %v", err, bad)
	}
	err = fs.WalkDir(os.DirFS(dir), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || strings.HasSuffix(path, ".tmp") {
			t.Errorf("%s is left behind, %v", path, err)
		}
		if strings.HasSuffix(path, ".fls") {
			b, err := samples.OpenBody(filepath.Join(dir, path))
			if err != nil {
				t.Error(err)
				return nil
			}
			if err := b.Verify(); err != nil {
				t.Error(err)
			}
			b.Close()
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
