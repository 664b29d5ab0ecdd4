package page

import (
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"
)

// own are the files that are ours: all but the chart library.
func own(t *testing.T, each func(name, text string)) {
	t.Helper()
	n := 0
	err := fs.WalkDir(FS, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Dir(p) == "lib" {
			return err
		}
		n++
		each(p, string(read(FS, p)))
		return nil
	})
	if err != nil || n < 10 {
		t.Fatalf("%d files, error %v", n, err)
	}
}

// What would let text of a run become markup or code, or would ask another host.
var forbidden = []struct {
	name string
	is   *regexp.Regexp
}{
	{"markup from text", regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|parseFromString|srcdoc|setHTML`)},
	{"code from text", regexp.MustCompile(`\beval\s*\(|new Function|Function\(|setTimeout\(\s*["'` + "`" + `]|javascript:|import\(`)},
	{"an inline handler", regexp.MustCompile(`<[^>]*\son[a-z]+\s*=|\.on(click|error|load|input|keydown)\s*=[^=]|setAttribute\(\s*["']on`)},
	{"an inline style or script", regexp.MustCompile(`<style|<script>|\sstyle="|setAttribute\(\s*["']style|cssText`)},
	{"another host", regexp.MustCompile(`\b([Hh]ttps?|wss?|ftp):/?/?[a-z0-9]|["'(]//[a-z]|@import|\burl\(`)},
	{"a frame or a message", regexp.MustCompile(`postMessage|<iframe|window\.open|new Worker|serviceWorker|document\.cookie`)},
}

// svgNamespace is a name that looks like an address and is never asked.
const svgNamespace = "http://www.w3.org/2000/svg"

func TestNothingForbidden(t *testing.T) {
	own(t, func(name, text string) {
		for _, c := range complaints(text) {
			t.Errorf("%s has %s", name, c)
		}
	})
}

func complaints(text string) (out []string) {
	text = strings.ReplaceAll(text, svgNamespace, "")
	for _, f := range forbidden {
		if m := f.is.FindString(text); m != "" {
			out = append(out, f.name+": "+m)
		}
	}
	return out
}

// TestForbiddenIsSeen spoils a line at a time.
func TestForbiddenIsSeen(t *testing.T) {
	for _, line := range []string{
		`node.innerHTML = text`, `node.insertAdjacentHTML("beforeend", text)`, `document.write(x)`, `eval ("1")`, `new Function("a")`, `setTimeout("f()", 1)`,
		`a.href = "javascript:" + x`, `<a onclick="f()">`, `a.onclick = f`, `node.setAttribute("onclick", x)`, `<div style="color:red">`, `<script>`,
		`fetch("https://example.com/")`, `import "//cdn.example.com/x.js"`, `@import "x.css"`, `background: url(x.png)`, `new WebSocket("ws://a")`,
		`window.open(x)`, `new DOMParser()`, `node.style.cssText = x`, `await import(name)`,
	} {
		if len(complaints(line)) == 0 {
			t.Errorf("nothing is said of %s", line)
		}
	}
	for _, line := range []string{`addEventListener("click", f)`, `node.textContent = text`, `setTimeout(() => f(), 1)`, `el("button", { onclick: () => go() })`, `state.onopen = f`} {
		if c := complaints(line); len(c) != 0 {
			t.Errorf("%s: %v", line, c)
		}
	}
}

var (
	imported = regexp.MustCompile(`(?m)^(?:import|export) .*from "\./([\w.-]+)";$`)
	asked    = regexp.MustCompile(`(?:src|href)="(/[^"]*)"`)
	variable = regexp.MustCompile(`var\(--([a-z0-9-]+)`)
	painted  = regexp.MustCompile(`colour\("([a-z0-9-]+)"`)
)

// TestEveryFileIsThere follows what the page and its modules load, and finds files that nothing loads.
func TestEveryFileIsThere(t *testing.T) {
	loaded := map[string]bool{"index.html": true}
	for _, m := range asked.FindAllStringSubmatch(string(Index), -1) {
		loaded[strings.TrimPrefix(m[1], "/assets/")] = true
	}
	own(t, func(_, text string) {
		for _, m := range imported.FindAllStringSubmatch(text, -1) {
			loaded[m[1]] = true
		}
	})
	for name := range loaded {
		if _, err := fs.Stat(FS, name); err != nil {
			t.Error(err)
		}
	}
	own(t, func(name, _ string) {
		if !loaded[name] {
			t.Errorf("%s is loaded by nothing", name)
		}
	})
}

// TestNamedColoursExist holds every colour that a module or a style names to the table.
func TestNamedColoursExist(t *testing.T) {
	colours := table(t)["light"]
	own(t, func(name, text string) {
		for _, m := range append(variable.FindAllStringSubmatch(text, -1), painted.FindAllStringSubmatch(text, -1)...) {
			if _, ok := colours[m[1]]; !ok && m[1] != "mono" && !strings.HasSuffix(m[1], "-") {
				t.Errorf("%s names the colour %s, which style.css does not have", name, m[1])
			}
		}
	})
}

// TestChartLibraryIsWhole holds the vendored library to its version and licence.
func TestChartLibraryIsWhole(t *testing.T) {
	if s := string(read(FS, "lib/uPlot.min.js")); !strings.Contains(s[:200], "(v1.6.32)") {
		t.Errorf("lib/uPlot.min.js begins %q, want version 1.6.32", s[:80])
	}
	if s := string(read(FS, "lib/uPlot.LICENSE")); !strings.HasPrefix(s, "The MIT License (MIT)") {
		t.Errorf("lib/uPlot.LICENSE begins %q, want the MIT licence", s[:40])
	}
	if s := string(read(FS, "lib/uPlot.min.js")); len(complaintsOf(s, "markup from text", "code from text")) > 0 {
		t.Errorf("lib/uPlot.min.js: %v", complaintsOf(s, "markup from text", "code from text"))
	}
}

func complaintsOf(text string, names ...string) (out []string) {
	for _, c := range complaints(text) {
		for _, n := range names {
			if strings.HasPrefix(c, n) {
				out = append(out, c)
			}
		}
	}
	return out
}

// TestSize keeps the page small: what a browser loads, and what a person reads.
func TestSize(t *testing.T) {
	files, bytes := 0, 0
	own(t, func(name, text string) {
		files, bytes = files+1, bytes+len(text)
		if n := strings.Count(text, "\n"); n > 500 {
			t.Errorf("%s has %d lines, want at most 500", name, n)
		}
	})
	if bytes > 300<<10 {
		t.Errorf("%d files have %d bytes, want at most 300 KiB", files, bytes)
	}
}
