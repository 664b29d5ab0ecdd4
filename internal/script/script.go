package script

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A Command is one line of a script.
type Command struct {
	Name string
	Args []string // the words that are not key=value
	t    *testing.T
	line int
	set  map[string]string
}

// Has reports whether key=value was given.
func (c Command) Has(key string) bool { _, ok := c.set[key]; return ok }

// Text returns the value of key, or def.
func (c Command) Text(key, def string) string {
	if v, ok := c.set[key]; ok {
		return v
	}
	return def
}

// Int returns the value of key, or def.
func (c Command) Int(key string, def int) int {
	v, ok := c.set[key]
	if !ok {
		return def
	}
	return c.number(v)
}

// Ints returns the words as numbers.
func (c Command) Ints() []int {
	out := make([]int, len(c.Args))
	for i, a := range c.Args {
		out[i] = c.number(a)
	}
	return out
}

func (c Command) number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		c.t.Fatalf("line %d: %s: %q, want a number", c.line, c.Name, s)
	}
	return n
}

// Run gives the commands of each script that matches the pattern to the function that begin returns, and compares what it prints. With
// update it rewrites the scripts instead; callers pass their -update flag.
func Run(t *testing.T, pattern string, update bool, begin func(t *testing.T) func(Command) string) {
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no script matches %s: %v", pattern, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			runFile(t, path, update, begin(t))
		})
	}
}

func runFile(t *testing.T, path string, update bool, do func(Command) string) {
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := play(t, string(old), do)
	if got == string(old) {
		return
	}
	if update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s: %s", path, firstDifference(got, string(old)))
}

// play returns the script with what do prints for each of its commands.
func play(t *testing.T, text string, do func(Command) string) string {
	var out strings.Builder
	for i, line := range strings.SplitAfter(text, "\n") {
		if strings.HasPrefix(line, "=") {
			continue
		}
		out.WriteString(line)
		words := strings.Fields(line)
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		for _, l := range strings.Split(strings.TrimRight(do(parse(t, i+1, words)), "\n"), "\n") {
			if l != "" {
				out.WriteString("= " + l + "\n")
			}
		}
	}
	return out.String()
}

func parse(t *testing.T, line int, words []string) Command {
	c := Command{Name: words[0], t: t, line: line, set: map[string]string{}}
	for _, w := range words[1:] {
		if key, value, ok := strings.Cut(w, "="); ok {
			c.set[key] = value
		} else {
			c.Args = append(c.Args, w)
		}
	}
	return c
}

// firstDifference says where two texts part.
func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return "line " + strconv.Itoa(i+1) + ": got\n\t" + g[i] + "\nwant\n\t" + w[i] + "\nrun with -update to rewrite"
		}
	}
	return "got " + strconv.Itoa(len(g)) + " lines, want " + strconv.Itoa(len(w)) + "; run with -update to rewrite"
}
