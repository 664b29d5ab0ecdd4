package servertest

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

//go:embed openai_client.py
var openAIClient string

// A foreigner is the openai package of Python, which answers for T84 to T89 in one run.
type foreigner struct {
	once    sync.Once
	lacks   string            // why it can't be asked
	said    map[string]string // by number: "" for all well
	failure string
}

// ask fails unless the package found all well in one number.
func (f *foreigner) ask(t *testing.T, g *Target, number int) {
	f.once.Do(func() { f.run(t, g) })
	if f.lacks != "" {
		t.Skip(f.lacks)
	}
	if f.failure != "" {
		t.Fatal(f.failure)
	}
	complaint, ok := f.said[fmt.Sprintf("T%02d", number)]
	if !ok || complaint != "" {
		t.Errorf("the client says %q, asked: %v", complaint, ok)
	}
}

func (f *foreigner) run(t *testing.T, g *Target) {
	if f.lacks = python(t, g, "openai"); f.lacks != "" {
		return
	}
	key := g.Key
	if key == "" {
		key = "None"
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, g.Python, "-c", openAIClient, g.URL, key)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &f.said)
	}
	if err != nil {
		f.failure = fmt.Sprintf("the client: %v\n%s%s", err, out, errs.String())
	}
}

// python says what is missing to run a package of Python, or "".
func python(t testing.TB, g *Target, name string) string {
	t.Helper()
	if g.Python == "" {
		return "needs Python with the package " + name
	}
	look := "import importlib.util, sys; sys.exit(0 if importlib.util.find_spec('" + name + "') else 'no such package')"
	if out, err := exec.CommandContext(t.Context(), g.Python, "-c", look).CombinedOutput(); err != nil {
		return fmt.Sprintf("needs the package %s in %s: %s", name, g.Python, strings.TrimSpace(string(out)))
	}
	return ""
}
