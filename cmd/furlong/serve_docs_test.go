package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"furlong/server/servertest"
)

var rewriteDocs = flag.Bool("update", false, "rewrite the tables of docs/server.md")

const (
	serverPage = "../../docs/server.md"
	shownURL   = "http://127.0.0.1:30000"
)

// varying are what no two runs have in common.
var varying = []string{"id", "created", "e2e_latency"}

// TestServerPage runs every example of docs/server.md in order and holds what comes against what the page shows: text must be the same, JSON may have more keys.
func TestServerPage(t *testing.T) {
	unlessShort(t)
	for _, tool := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("the examples of the page are not run: %v", err)
		}
	}
	raw, err := os.ReadFile(serverPage)
	if err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	url := fmt.Sprintf("http://127.0.0.1:%d", port)
	p := launch(t, "serve", "--port", fmt.Sprint(port))
	p.await(t, url+"/health_generate", "")
	said, examples := "", 0
	for _, b := range fences(string(raw)) {
		code := strings.ReplaceAll(b.text, shownURL, url)
		switch b.kind {
		case "sh":
			out, err := exec.CommandContext(t.Context(), "bash", "-c", code).CombinedOutput()
			if err != nil {
				t.Errorf("%s: %v\n%s", b.text, err, out)
			}
			said, examples = string(out), examples+1
		case "text":
			if strings.TrimSpace(said) != strings.TrimSpace(b.text) {
				t.Errorf("the page shows\n%s\nand it says\n%s", b.text, said)
			}
		case "json":
			sameJSON(t, b.text, said)
		case "python":
			runPython(t, code)
		}
	}
	if examples < 8 {
		t.Errorf("the page has %d examples, want at least 8", examples)
	}
}

type fence struct{ kind, text string }

// fences returns the code blocks of a page that say what they are.
func fences(page string) (out []fence) {
	for i, part := range strings.Split(page, "```") {
		kind, text, ok := strings.Cut(part, "\n")
		if i%2 == 1 && ok && kind != "" {
			out = append(out, fence{kind, text})
		}
	}
	return out
}

func sameJSON(t *testing.T, want, got string) {
	t.Helper()
	var w, g any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("the page shows %s: %v", want, err)
	}
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		t.Errorf("the page shows %s\nand it says %s: %v", want, got, err)
		return
	}
	if why := within(w, g, ""); why != "" {
		t.Errorf("the page shows\n%s\nand it says\n%s\n%s", want, got, why)
	}
}

// within says where got lacks something of want, or has another value there.
func within(want, got any, at string) string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		for k, v := range w {
			if _, there := g[k]; !ok || !there {
				return fmt.Sprintf("%s.%s is missing", at, k)
			}
			if why := within(v, g[k], at+"."+k); why != "" && !slices.Contains(varying, k) {
				return why
			}
		}
		return ""
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return fmt.Sprintf("%s is %v, want %v", at, got, want)
		}
		for i := range w {
			if why := within(w[i], g[i], fmt.Sprintf("%s[%d]", at, i)); why != "" {
				return why
			}
		}
		return ""
	case float64: // the page rounds
		if g, ok := got.(float64); ok && math.Abs(g-w) <= 1e-4*math.Abs(w)+5e-7 {
			return ""
		}
	default:
		if got == want {
			return ""
		}
	}
	return fmt.Sprintf("%s is %v, want %v", at, got, want)
}

func runPython(t *testing.T, code string) {
	t.Helper()
	py := pythonPath()
	if py == "" || exec.CommandContext(t.Context(), py, "-c", "import openai").Run() != nil {
		t.Log("the example in Python is not run: there is no Python with the openai package")
		return
	}
	if out, err := exec.CommandContext(t.Context(), py, "-c", code).CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "12+30=") {
		t.Errorf("%s: %v\n%s", code, err, out)
	}
}

// TestServerPageTables holds the page's tables to the suite.
func TestServerPageTables(t *testing.T) {
	raw, err := os.ReadFile(serverPage)
	if err != nil {
		t.Fatal(err)
	}
	all, differ, _ := strings.Cut(servertest.Markdown(), "\n\n")
	page := between(t, between(t, string(raw), "differs", differ), "all", all)
	switch {
	case page == string(raw):
	case *rewriteDocs:
		if err := os.WriteFile(serverPage, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Error("the tables of docs/server.md are not those of the suite; go test ./cmd/furlong -run TestServerPageTables -update rewrites them")
	}
}

// between puts text between a page's marks of a name.
func between(t *testing.T, page, name, text string) string {
	t.Helper()
	begin, end := "<!-- suite: "+name+" -->\n", "<!-- end: "+name+" -->"
	head, rest, ok := strings.Cut(page, begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("docs/server.md has no marks of %q", name)
	}
	return head + begin + strings.TrimSpace(text) + "\n" + end + tail
}
