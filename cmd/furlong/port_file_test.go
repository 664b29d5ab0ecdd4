package main

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The address that an earlier server left is gone before a new one listens, and so also where that cannot listen.
func TestStaleAddress(t *testing.T) {
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer at.Close()
	port := strconv.Itoa(at.Addr().(*net.TCPAddr).Port)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for _, command := range []string{"serve", "router"} {
		file := filepath.Join(t.TempDir(), "port")
		if err := os.WriteFile(file, []byte("http://127.0.0.1:1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		code := dispatch(t.Context(), newEnv([]string{command, "--port", port, "--port-file", file}, null, null, null))
		if _, err := os.Lstat(file); code != exitFailed || !os.IsNotExist(err) {
			t.Errorf("%s on a port that is taken exits with %d, and the old address is there: %v, want %d and none", command, code, err == nil, exitFailed)
		}
	}
}

// What is no plain file is left alone, and a file that cannot be written is named by its flag.
func TestPortFilesThatAreNone(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{"", dir, filepath.Join(dir, "absent", "port")} {
		if err := forget(file); err != nil {
			t.Errorf("%q: %v", file, err)
		}
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
	e := newEnv([]string{"serve"}, nil, nil, nil)
	if err := e.announce("http://127.0.0.1:1", filepath.Join(dir, "absent", "port")); err == nil || !strings.HasPrefix(err.Error(), "--port-file: ") {
		t.Errorf("%v, want an error that names the flag", err)
	}
}
