package furlong_test

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A rule looks at the whole tree and returns its complaints.
type rule struct {
	name  string
	check func(*tree) []string
}

var rules = []rule{
	{"floors", checkFloors},
	{"apart", checkApart},
	{"imports", checkOnly},
	{"modules", checkModules},
	{"test packages", checkTestPackages},
	{"environment", checkEnvironment},
	{"clocks and dice", checkCores},
	{"package comments", checkComments},
	{"names", checkNames},
	{"lengths", checkLengths},
}

// maxLines is the longest a file may be that a person wrote.
const maxLines = 800

// floorOf returns the line of the table on which a package stands.
func floorOf(dir string) (int, bool) {
	byName := map[string]int{}
	for i, line := range strings.Split(strings.TrimSpace(floors), "\n") {
		for name := range strings.FieldsSeq(line) {
			byName[name] = i
		}
	}
	if i, ok := byName[dir]; ok {
		return i, true
	}
	i, ok := byName[path.Dir(dir)+"/*"]
	return i, ok
}

func checkFloors(tr *tree) (out []string) {
	for _, dir := range tr.directories() {
		floor, ok := floorOf(dir)
		if !ok {
			out = append(out, fmt.Sprintf("%s: not in the table of floors in arch_test.go", dir))
			continue
		}
		for _, d := range tr.imports(dir) {
			if below, ok := floorOf(d); ok && below >= floor {
				out = append(out, fmt.Sprintf("%s (floor %d) imports %s (floor %d), want a lower floor", dir, floor, d, below))
			}
		}
	}
	return out
}

func checkApart(tr *tree) (out []string) {
	for _, a := range apart {
		for _, dir := range tr.directories() {
			out = append(out, tr.reaches(dir, a.from, a.to, a.why)...)
			if !a.oneWay {
				out = append(out, tr.reaches(dir, a.to, a.from, a.why)...)
			}
		}
	}
	return out
}

func (tr *tree) reaches(dir, from, to, why string) []string {
	if !under(dir, from) || strings.HasSuffix(dir, "test") {
		return nil
	}
	way := tr.reach(dir, func(d string) bool { return under(d, to) && !(to == "" && under(d, from)) })
	if way == nil {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s must not reach %s: %s", strings.Join(way, " -> "), from, orAny(to), why)}
}

func orAny(name string) string {
	if name == "" {
		return "another package"
	}
	return name
}

func checkOnly(tr *tree) (out []string) {
	for _, f := range tr.files {
		for _, i := range f.imports {
			for _, o := range only {
				house := f.dir == "." && f.test // these tests read source, they are no part of it
				if under(i, o.path) && !underAny(f.path, o.where) && !(f.test && o.tests) && !house {
					out = append(out, fmt.Sprintf("%s imports %s, want that in %v only: %s", f.path, i, o.where, o.why))
				}
			}
		}
	}
	return out
}

// checkModules: an import from outside needs a row in only, and so a decision record.
func checkModules(tr *tree) (out []string) {
	for _, f := range tr.files {
		for _, i := range f.imports {
			host, _, _ := strings.Cut(i, "/")
			known := slices.ContainsFunc(only, func(o permit) bool { return under(i, o.path) })
			if strings.Contains(host, ".") && !known {
				out = append(out, fmt.Sprintf("%s imports %s, for which there is no decision record", f.path, i))
			}
		}
	}
	return out
}

func checkTestPackages(tr *tree) (out []string) {
	for _, dir := range tr.directories() {
		for _, d := range tr.imports(dir) {
			if strings.HasSuffix(d, "test") && !strings.HasSuffix(dir, "test") {
				out = append(out, fmt.Sprintf("%s imports %s, want that in tests only", dir, d))
			}
		}
	}
	return out
}

// checkEnvironment lets tests and what is written for them alone (packages named *test) ask the environment as well.
func checkEnvironment(tr *tree) (out []string) {
	for _, f := range tr.files {
		if f.test || strings.HasSuffix(f.dir, "test") || underAny(f.dir, []string{"cmd", "config", "launch", "examples"}) {
			continue
		}
		for _, use := range tr.uses(f, "os") {
			if slices.Contains([]string{"Getenv", "LookupEnv", "Environ", "ExpandEnv", "Args"}, use.name) {
				out = append(out, fmt.Sprintf("%s uses os.%s, want that in cmd, config, launch and examples only", use.place, use.name))
			}
		}
	}
	return out
}

// dice of one's own: what makes a source, and the types. All else in math/rand draws from a source of the process.
var ownDice = []string{"New", "NewPCG", "NewChaCha8", "NewZipf", "NewSource", "Rand", "Source", "PCG", "ChaCha8", "Zipf"}

func checkCores(tr *tree) (out []string) {
	for _, f := range tr.files {
		if f.test || !underAny(f.dir, cores) {
			continue
		}
		for _, use := range tr.uses(f, "time") {
			if slices.Contains([]string{"Now", "Since", "Until", "After", "Sleep", "Tick", "NewTimer", "NewTicker", "AfterFunc"}, use.name) {
				out = append(out, fmt.Sprintf("%s uses time.%s, want a clock passed in", use.place, use.name))
			}
		}
		for _, use := range append(tr.uses(f, "math/rand"), tr.uses(f, "math/rand/v2")...) {
			if !slices.Contains(ownDice, use.name) {
				out = append(out, fmt.Sprintf("%s uses rand.%s, want a *rand.Rand passed in", use.place, use.name))
			}
		}
	}
	return out
}

type use struct{ place, name string }

// uses returns the names that a file takes from a package.
func (tr *tree) uses(f *file, importPath string) (out []use) {
	local := ""
	for _, i := range f.syntax.Imports {
		if p, err := strconv.Unquote(i.Path.Value); err == nil && p == importPath {
			local = path.Base(strings.TrimSuffix(p, "/v2"))
			if i.Name != nil {
				local = i.Name.Name
			}
		}
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && local != "" {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == local {
				out = append(out, use{fmt.Sprint(tr.set.Position(s.Pos())), s.Sel.Name})
			}
		}
		return true
	})
	return out
}

func checkComments(tr *tree) (out []string) {
	for _, dir := range tr.directories() {
		var with []string
		text := ""
		for _, f := range tr.packages[dir] {
			if f.syntax.Doc != nil {
				with = append(with, f.path)
				text = f.syntax.Doc.Text()
			}
		}
		if len(with) != 1 {
			out = append(out, fmt.Sprintf("%s has %d package comments %v, want one", dir, len(with), with))
			continue
		}
		if underAny(dir, numeric) && !strings.Contains(text, "\nSources: ") {
			out = append(out, fmt.Sprintf("%s: the package comment has no paragraph \"Sources: \"", with[0]))
		}
	}
	return out
}

// vague names say where code was put, not what it is.
var vague = []string{"util", "utils", "common", "helper", "helpers", "types", "misc"}

func checkNames(tr *tree) (out []string) {
	for _, dir := range tr.directories() {
		for _, part := range append(strings.Split(dir, "/"), tr.packages[dir][0].syntax.Name.Name) {
			if slices.Contains(vague, part) {
				out = append(out, fmt.Sprintf("%s: %q says nothing", dir, part))
				break
			}
		}
	}
	return out
}

func checkLengths(tr *tree) (out []string) {
	for _, f := range tr.files {
		if f.lines > maxLines && !f.generated {
			out = append(out, fmt.Sprintf("%s has %d lines, want at most %d", f.path, f.lines, maxLines))
		}
	}
	return out
}
