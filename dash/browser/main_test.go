package browser

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// place is a folder for all tests: programs and runs, made once.
var place string

func TestMain(m *testing.M) {
	os.Exit(within(m))
}

func within(m *testing.M) int {
	if place = os.Getenv("FURLONG_TEST_PLACE"); place == "" {
		var err error
		if place, err = os.MkdirTemp("", "furlong-browser"); err != nil {
			fmt.Println(err)
			return 1
		}
		defer os.RemoveAll(place)
	}
	if chromium() == "" {
		fmt.Println("browser: no chromium is here, every test in a browser is SKIPPED")
		return m.Run()
	}
	if err := fresh(screenshots()); err != nil {
		fmt.Println(err)
		return 1
	}
	code := m.Run()
	if one.stop != nil {
		one.stop()
	}
	fmt.Println("browser: pictures of this run lie in", screenshots())
	return code
}

// fresh makes a folder and takes the pictures of an earlier run out of it.
func fresh(dir string) error {
	old, err := filepath.Glob(filepath.Join(dir, "*.png"))
	if err != nil {
		return err
	}
	for _, f := range old {
		if err := os.Remove(f); err != nil {
			return err
		}
	}
	return os.MkdirAll(dir, 0o755)
}

// chromium is the path of the browser, empty if there is none.
func chromium() string {
	names := []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"}
	if named := os.Getenv("FURLONG_TEST_CHROMIUM"); named != "" {
		names = []string{named}
	}
	for _, n := range names {
		if p, err := exec.LookPath(n); err == nil {
			return p
		}
	}
	return ""
}

// need skips a test where there is no browser.
func need(t *testing.T) {
	t.Helper()
	if chromium() == "" {
		t.Skip("no chromium is here")
	}
}

// program builds a command of the module above and returns its path.
func program(t *testing.T, name, pkg string) string {
	t.Helper()
	out, err := once("program "+name, func() (string, error) {
		path := filepath.Join(place, name)
		build := exec.Command("go", "build", "-o", path, pkg)
		build.Dir = filepath.Join("..", "..")
		if b, err := build.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%w: %s", err, b)
		}
		return path, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func furlong(t *testing.T) string { return program(t, "furlong", "./cmd/furlong") }

func dashgen(t *testing.T) string { return program(t, "dashgen", "./cmd/dashgen") }

var (
	doneMu sync.Mutex
	done   = map[string]func() (string, error){}
)

// once does something once for all tests.
func once(name string, do func() (string, error)) (string, error) {
	doneMu.Lock()
	f, ok := done[name]
	if !ok {
		f = sync.OnceValues(do)
		done[name] = f
	}
	doneMu.Unlock()
	return f()
}

// command runs a program to its end.
func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	b, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(name), strings.Join(args, " "), err, b)
	}
	return string(b)
}

// made is a run of dashgen that tests only read.
func made(t *testing.T) string {
	t.Helper()
	return generated(t, "made", "-cycles", "186", "-groups", "4", "-n", "8", "-tokens", "64", "-bodies", "all")
}

// generated is the run that dashgen makes of args, once for all tests.
func generated(t *testing.T, name string, args ...string) string {
	t.Helper()
	dir, err := once(name, func() (string, error) {
		dir := filepath.Join(place, "runs", name)
		if there(filepath.Join(dir, "planted.json")) {
			return dir, nil
		}
		b, err := exec.Command(dashgen(t), append(args, "-seed", "1", dir)...).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("dashgen: %w: %s", err, b)
		}
		return dir, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// trained is a short run of furlong train, and its closing JSON lies beside it as NAME.json.
func trained(t *testing.T) string {
	t.Helper()
	dir, err := once("trained", func() (string, error) {
		dir := filepath.Join(place, "runs", "trained")
		if there(dir + ".json") {
			return dir, nil
		}
		cmd := exec.Command(furlong(t), "train", "--num-rollout", "12", "--rollout-batch-size", "4", "--n-samples-per-prompt", "4", "--eval-problems", "16", "--n-samples-per-eval-prompt", "2",
			"--eval-interval", "6", "--save-interval", "0", "--quiet", "--json", "--no-dash", "--run-dir", dir)
		var out, fault strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &fault
		if err := cmd.Run(); err != nil {
			return "", fmt.Errorf("furlong train: %w: %s", err, fault.String())
		}
		text := strings.TrimSpace(out.String())
		return dir, os.WriteFile(dir+".json", []byte(text[strings.LastIndexByte(text, '\n')+1:]), 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// there reports whether a run is left from tests before, in a folder that was named to be kept.
func there(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
