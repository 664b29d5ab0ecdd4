package furlong_test

import (
	"fmt"
	"go/ast"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// joined are packages that start goroutines and wait for all of them before they return: their own run under the race detector is enough for who calls them.
var joined = []string{"quant"}

// TestQuietPackagesAreQuiet holds the list QUIET of the Makefile to what it promises: in what make race leaves out nothing runs beside anything else.
func TestQuietPackagesAreQuiet(t *testing.T) {
	tr, err := load(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	quiet := listed(t, "QUIET")
	if len(quiet) < 10 {
		t.Fatalf("QUIET of the Makefile names %d packages, want at least ten", len(quiet))
	}
	for _, complaint := range checkQuiet(tr, quiet) {
		t.Error(complaint)
	}
	for _, dir := range append(quiet, listed(t, "LONG")...) {
		if tr.packages[dir] == nil {
			t.Errorf("Makefile: %s is no package, take it out", dir)
		}
	}
}

// listed returns the words of a variable of the Makefile.
func listed(t *testing.T, name string) []string {
	t.Helper()
	raw, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^` + name + ` *:= ((?:.*\\\n)*.*)$`).FindSubmatch(raw)
	if m == nil {
		t.Fatalf("Makefile has no line %s :=", name)
	}
	return strings.Fields(strings.ReplaceAll(string(m[1]), "\\\n", " "))
}

// checkQuiet complains of packages that start something, or whose tests do, or what either imports.
func checkQuiet(tr *tree, quiet []string) (out []string) {
	for _, dir := range quiet {
		for _, f := range tr.files {
			if f.dir != dir {
				continue
			}
			if at := tr.starts(f); at != "" {
				out = append(out, fmt.Sprintf("%s starts a goroutine: take %s out of QUIET in the Makefile", at, dir))
			}
			if f.test {
				out = append(out, tr.startsBelow(dir, f)...)
			}
		}
		if way := tr.reach(dir, tr.concurrent); way != nil {
			out = append(out, fmt.Sprintf("%s starts goroutines: take %s out of QUIET in the Makefile", strings.Join(way, " imports "), dir))
		}
	}
	return out
}

// startsBelow complains of what a test file imports.
func (tr *tree) startsBelow(dir string, f *file) (out []string) {
	for _, i := range f.imports {
		d, ok := ours(i)
		if !ok || d == dir {
			continue
		}
		if tr.concurrent(d) {
			out = append(out, fmt.Sprintf("%s imports %s, which starts goroutines: take %s out of QUIET in the Makefile", f.path, d, dir))
		} else if way := tr.reach(d, tr.concurrent); way != nil {
			out = append(out, fmt.Sprintf("%s imports %s, which starts goroutines: take %s out of QUIET in the Makefile", f.path, strings.Join(way, " imports "), dir))
		}
	}
	return out
}

// concurrent reports whether a package starts goroutines that others may meet.
func (tr *tree) concurrent(dir string) bool {
	return !slices.Contains(joined, dir) && slices.ContainsFunc(tr.packages[dir], func(f *file) bool { return tr.starts(f) != "" })
}

// starts returns where a file starts a goroutine, by itself or through what does: groups, parallel tests, timers and servers; "" where it doesn't.
func (tr *tree) starts(f *file) (at string) {
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		found := false
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.SelectorExpr:
			found = slices.Contains([]string{"Go", "Parallel", "RunParallel", "AfterFunc", "Serve", "ListenAndServe", "NewServer", "NewTLSServer"}, n.Sel.Name)
		}
		if found && at == "" {
			at = tr.set.Position(n.Pos()).String()
		}
		return at == ""
	})
	return at
}

func TestWhatStartsIsSeen(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"a goroutine":         {"a/a.go": "package a\nfunc f() { go f() }\n"},
		"a group":             {"a/a.go": "package a\nimport \"sync\"\nfunc f() { var w sync.WaitGroup; w.Go(f) }\n"},
		"a parallel test":     {"a/a.go": "package a\n", "a/a_test.go": "package a\nimport \"testing\"\nfunc TestA(t *testing.T) { t.Parallel() }\n"},
		"what is imported":    {"a/a.go": "package a\nimport _ \"furlong/b\"\n", "b/b.go": "package b\nimport _ \"furlong/c\"\n", "c/c.go": "package c\nfunc f() { go f() }\n"},
		"what a test imports": {"a/a.go": "package a\n", "a/a_test.go": "package a\nimport _ \"furlong/b\"\n", "b/b.go": "package b\nfunc f() { go f() }\n"},
	} {
		fsys := fstest.MapFS{}
		for path, text := range files {
			fsys[path] = &fstest.MapFile{Data: []byte(text)}
		}
		tr, err := load(fsys)
		if err != nil {
			t.Fatal(err)
		}
		if got := checkQuiet(tr, []string{"a"}); len(got) != 1 {
			t.Errorf("%s: complaints are %q, want one", name, got)
		}
	}
}
