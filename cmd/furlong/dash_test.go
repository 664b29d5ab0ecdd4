package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	rundir "furlong/metrics/run"
)

// pageJob is a job that has come as far as its directory.
func pageJob(t *testing.T, address string) (j *job, said, log *bytes.Buffer) {
	t.Helper()
	said, log = &bytes.Buffer{}, &bytes.Buffer{}
	dir, err := rundir.Create(filepath.Join(t.TempDir(), "run 1"), rundir.Options{Now: time.Now, Log: slog.New(slog.DiscardHandler), Self: rundir.Holder{PID: 1, Host: "here"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dir.End(rundir.Stopped, ""); err != nil {
			t.Error(err)
		}
	})
	j = &job{env: &env{name: "train", stderr: said, log: slog.New(slog.NewTextHandler(log, nil))}, f: newTrainFlags(), dir: dir}
	j.f.page.Address = address
	return j, said, log
}

func fetch(t *testing.T, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// A run shows itself at the address asked for or, where that is taken, at the next, says where, and stops when it ends.
func TestTrainServesItsPage(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	j, said, log := pageJob(t, taken.Addr().String())
	stop := j.showPage(t.Context())
	m := regexp.MustCompile(`^furlong train: page on (http://127\.0\.0\.1:\d+)(/r/run%201/)\n$`).FindStringSubmatch(said.String())
	if m == nil || strings.Contains(m[1], taken.Addr().String()) {
		t.Fatalf("said %q, want another address than %s", said, taken.Addr())
	}
	if code, body := fetch(t, m[1]+m[2]); code != 200 || !strings.Contains(body, "<html") {
		t.Errorf("page is %d %.80q", code, body)
	}
	if code, body := fetch(t, m[1]+"/api/r/run%201/head"); code != 200 || !strings.Contains(body, `"state":"running"`) {
		t.Errorf("head is %d %.200q", code, body)
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	if at, err := net.Listen("tcp", strings.TrimPrefix(m[1], "http://")); err != nil {
		t.Errorf("after the end: %v, want a free address", err)
	} else {
		at.Close()
	}
	if log.Len() > 0 {
		t.Errorf("log is %q", log)
	}
}

// Without a page, or where none can be, the run goes on: a line says so and no more.
func TestTrainGoesOnWithoutPage(t *testing.T) {
	j, said, log := pageJob(t, "127.0.0.1:0")
	j.f.page.On = false
	j.showPage(t.Context())()
	if said.Len()+log.Len() > 0 {
		t.Errorf("--no-dash says %q and logs %q", said, log)
	}
	j, said, log = pageJob(t, "198.51.100.1:1") // an address of no machine
	j.showPage(t.Context())()
	if said.Len() > 0 || !strings.Contains(log.String(), "no page of this run") {
		t.Errorf("an address that can't be taken: says %q and logs %q", said, log)
	}
}

// An address that other machines reach is printed with a token, without which nothing is answered.
func TestDashOpenNeedsToken(t *testing.T) {
	shelf, err := newShelf([]string{t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	p, err := newPages(shelf, "0.0.0.0:0", nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.server.Run(ctx, p.at) }()
	_, token, ok := strings.Cut(p.url, "/#token=")
	if !ok || len(token) < 20 {
		t.Errorf("address is %s, want a token", p.url)
	}
	_, port, err := net.SplitHostPort(p.at.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if code, _ := fetch(t, "http://127.0.0.1:"+port+"/api/runs"); code != http.StatusForbidden {
		t.Errorf("without a token: %d, want 403", code)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestRunDirs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{file, "no-such-directory"} {
		if _, err := runDirs([]string{bad}); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
	if dirs, err := runDirs([]string{t.TempDir()}); err != nil || len(dirs) != 1 {
		t.Errorf("a directory: %v, %v", dirs, err)
	}
}
