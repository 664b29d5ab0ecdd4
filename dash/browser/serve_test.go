package browser

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A site is a server of furlong dash.
type site struct {
	url string
	cmd *exec.Cmd
}

// serve serves runs until the test ends. addr may name a port that was used before.
func serve(t *testing.T, addr string, dirs ...string) *site {
	t.Helper()
	file := filepath.Join(t.TempDir(), "address")
	cmd := exec.Command(furlong(t), append([]string{"dash", "--dash-addr", addr, "--port-file", file}, dirs...)...)
	var fault strings.Builder
	cmd.Stderr = &fault
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &site{cmd: cmd}
	t.Cleanup(func() { s.stop() })
	wait(t, "the server's address", func() bool {
		b, err := os.ReadFile(file)
		s.url = strings.TrimSpace(string(b))
		return err == nil && strings.HasPrefix(s.url, "http://")
	})
	return s
}

// stop kills the server, as a machine that goes away would.
func (s *site) stop() {
	if s.cmd.ProcessState == nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	}
}

// patience is how long anything may take on a machine with other work; it decides nothing but failure.
const patience = 40 * time.Second

func wait(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not come within %s", what, patience)
		}
	}
}
