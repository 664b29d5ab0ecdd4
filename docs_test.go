package furlong_test

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestLinks follows every link of every Markdown file to a file of the tree.
func TestLinks(t *testing.T) {
	complaints, err := deadLinks(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range complaints {
		t.Error(c)
	}
}

func TestDeadLinks(t *testing.T) {
	got, err := deadLinks(fstest.MapFS{
		"README.md":     {Data: []byte("[a](docs/a.md#top) [b](docs/b.md) [c](https://example.com) [d](#here) ![e](docs)")},
		"docs/a.md":     {Data: []byte("[up](../README.md) [gone](gone.md)")},
		"runs/x/y.md":   {Data: []byte("[a run's](affair)")},
		"docs/notes.go": {Data: []byte("[not](markdown)")},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "README.md: docs/b.md does not exist, docs/a.md: docs/gone.md does not exist"
	if strings.Join(got, ", ") != want {
		t.Errorf("got %q, want %q", strings.Join(got, ", "), want)
	}
}

// A link in Markdown that is not a URL: (target), (target#part), (target "title").
var link = regexp.MustCompile(`\]\(([^)#: ]+)(?:#[^) ]*)?(?: "[^"]*")?\)`)

func deadLinks(fsys fs.FS) (out []string, err error) {
	err = fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return enter(fsys, p, d)
		}
		if path.Ext(p) != ".md" {
			return nil
		}
		text, err := fs.ReadFile(fsys, p)
		if err != nil {
			return err
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			target := path.Join(path.Dir(p), m[1])
			if _, err := fs.Stat(fsys, target); err != nil {
				out = append(out, p+": "+target+" does not exist")
			}
		}
		return nil
	})
	return out, err
}

// A command of the documentation that runs tests: go test ./package -run Name.
var testCommand = regexp.MustCompile(`go test \./([a-z0-9/_]+) -run (\w+)`)

// TestNamedTestsExist holds the documentation to tests that are there: go test is content when -run matches none.
func TestNamedTestsExist(t *testing.T) {
	pages, err := fs.Glob(os.DirFS("."), "docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, p := range pages {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range testCommand.FindAllStringSubmatch(string(text), -1) {
			found++
			if !hasTest(t, m[1], m[2]) {
				t.Errorf("%s: %s has no test that %s matches", p, m[1], m[2])
			}
		}
	}
	if found == 0 {
		t.Error("no command found: has the documentation changed its form?")
	}
}

// hasTest reports whether a package has a test function whose name holds the given text.
func hasTest(t *testing.T, pkg, name string) bool {
	t.Helper()
	files, err := fs.Glob(os.DirFS("."), pkg+"/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if regexp.MustCompile(`func Test\w*` + strings.TrimPrefix(name, "Test")).Match(text) {
			return true
		}
	}
	return false
}

// TestArchitectureNamesEveryPackage holds ARCHITECTURE.md, which shows the floors, to all that stands on them.
func TestArchitectureNamesEveryPackage(t *testing.T) {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	tr, err := load(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range slices.Sorted(maps.Keys(tr.packages)) {
		if p != "." && !strings.Contains(string(text), "`"+p+"`") {
			t.Errorf("ARCHITECTURE.md does not name %s", p)
		}
	}
}

// A file named in ARCHITECTURE.md with its directory.
var namedFile = regexp.MustCompile("`([a-z0-9_/]+/[a-z0-9_]+\\.go)`")

// TestArchitectureNamesFilesThatExist: a reader is sent nowhere in vain.
func TestArchitectureNamesFilesThatExist(t *testing.T) {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	names := namedFile.FindAllStringSubmatch(string(text), -1)
	for _, m := range names {
		if _, err := os.Stat(m[1]); err != nil {
			t.Errorf("ARCHITECTURE.md: %s does not exist", m[1])
		}
	}
	if len(names) == 0 {
		t.Error("no file found: has ARCHITECTURE.md changed its form?")
	}
}
