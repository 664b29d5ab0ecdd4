package furlong_test

import (
	"bytes"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const modulePath = "furlong"

// A tree is every Go file of the module, whatever its build constraints, parsed.
type tree struct {
	files    []*file
	packages map[string][]*file // by directory, "cmd/furlong"
	set      *token.FileSet
}

type file struct {
	path      string // "cmd/furlong/main.go"
	dir       string // "cmd/furlong"
	test      bool
	generated bool
	lines     int
	imports   []string
	syntax    *ast.File
}

var generatedLine = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// load reads a module. Other modules inside it, testdata, and files that no build takes ("ignore") are left out.
func load(fsys fs.FS) (*tree, error) {
	tr := &tree{packages: map[string][]*file{}, set: token.NewFileSet()}
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return enter(fsys, p, d)
		case path.Ext(p) != ".go":
			return nil
		}
		return tr.add(fsys, p)
	})
	return tr, err
}

func enter(fsys fs.FS, p string, d fs.DirEntry) error {
	if p == "." {
		return nil
	}
	_, err := fs.Stat(fsys, path.Join(p, "go.mod"))
	if d.Name() == "testdata" || d.Name() == "runs" || strings.HasPrefix(d.Name(), ".") || err == nil {
		return fs.SkipDir
	}
	return nil
}

func (tr *tree) add(fsys fs.FS, p string) error {
	text, err := fs.ReadFile(fsys, p)
	if err != nil {
		return err
	}
	syntax, err := parser.ParseFile(tr.set, p, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if ignored(syntax) {
		return nil
	}
	f := &file{
		path: p, dir: path.Dir(p), test: strings.HasSuffix(p, "_test.go"), syntax: syntax,
		generated: generatedLine.Match(text), lines: bytes.Count(text, []byte("\n")),
	}
	for _, i := range syntax.Imports {
		name, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return err
		}
		f.imports = append(f.imports, name)
	}
	tr.files = append(tr.files, f)
	if !f.test && f.dir != "." {
		tr.packages[f.dir] = append(tr.packages[f.dir], f)
	}
	return nil
}

// ignored reports whether the file has the constraint that keeps it out of every build.
func ignored(f *ast.File) bool {
	for _, g := range f.Comments {
		for _, c := range g.List {
			if x, err := constraint.Parse(c.Text); err == nil && c.Pos() < f.Package && x.String() == "ignore" {
				return true
			}
		}
	}
	return false
}

// directories returns the packages, sorted.
func (tr *tree) directories() []string {
	var out []string
	for dir := range tr.packages {
		out = append(out, dir)
	}
	slices.Sort(out)
	return out
}

// ours returns the directory of an import path of this module.
func ours(importPath string) (dir string, ok bool) {
	return strings.CutPrefix(importPath, modulePath+"/")
}

// imports returns the packages of this module that a package imports outside its tests, sorted.
func (tr *tree) imports(dir string) []string {
	seen := map[string]bool{}
	for _, f := range tr.packages[dir] {
		for _, i := range f.imports {
			if d, ok := ours(i); ok {
				seen[d] = true
			}
		}
	}
	var out []string
	for d := range seen {
		out = append(out, d)
	}
	slices.Sort(out)
	return out
}

// reach returns the path of imports from one package to the first that want accepts, or nil.
func (tr *tree) reach(from string, want func(string) bool) []string {
	seen := map[string]bool{}
	var walk func(dir string) []string
	walk = func(dir string) []string {
		if seen[dir] {
			return nil
		}
		seen[dir] = true
		for _, d := range tr.imports(dir) {
			if want(d) {
				return []string{dir, d}
			}
			if rest := walk(d); rest != nil {
				return append([]string{dir}, rest...)
			}
		}
		return nil
	}
	return walk(from)
}

// under reports whether p is root or lies below it. Everything is under "".
func under(p, root string) bool {
	return root == "" || p == root || strings.HasPrefix(p, root+"/")
}

func underAny(p string, roots []string) bool {
	return slices.ContainsFunc(roots, func(r string) bool { return under(p, r) })
}
