package servertest

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"
)

//go:embed openai_client.py
var openAIClient string

// sdk runs one check with the openai package of Python.
func sdk(t *testing.T, g *Target, number int) {
	python(t, g, "openai")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	key := g.Key
	if key == "" {
		key = "None"
	}
	out, err := exec.CommandContext(ctx, g.Python, "-c", openAIClient, g.URL, key, fmt.Sprintf("T%02d", number)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var said struct{ OK bool }
	if err := json.Unmarshal(out, &said); err != nil || !said.OK {
		t.Fatalf("the client printed %q, want that all is well", out)
	}
}

// python skips unless there is an interpreter that has a package.
func python(t testing.TB, g *Target, name string) {
	t.Helper()
	if g.Python == "" {
		t.Skipf("needs Python with the package %s", name)
	}
	if out, err := exec.CommandContext(t.Context(), g.Python, "-c", "import "+name).CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		t.Skipf("needs the package %s in %s: %s", name, g.Python, lines[len(lines)-1])
	}
}
