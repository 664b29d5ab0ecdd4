package script

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

const adder = `# Numbers are added up.
add 1 2 times=2
= 6
= done

say
say nothing=1
`

func add(c Command) string {
	if c.Name != "add" {
		return ""
	}
	sum := 0
	for _, n := range c.Ints() {
		sum += n * c.Int("times", 1)
	}
	return fmt.Sprintf("%d\ndone\n", sum)
}

func TestPlay(t *testing.T) {
	if got := play(t, adder, add); got != adder {
		t.Errorf("play wrote\n%s\nwant\n%s", got, adder)
	}
	if got, want := play(t, "add 5\n= 4\n", add), "add 5\n= 5\n= done\n"; got != want {
		t.Errorf("play wrote %q, want %q", got, want)
	}
}

func TestUpdateRewrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(path, []byte("add 5\n= 4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	Run(t, path, true, func(*testing.T) func(Command) string { return add })
	got, err := os.ReadFile(path)
	if want := "add 5\n= 5\n= done\n"; err != nil || string(got) != want {
		t.Errorf("the script is %q, %v, want %q", got, err, want)
	}
}

func TestFirstDifference(t *testing.T) {
	if got, want := firstDifference("a\nb\n", "a\nc\n"), "line 2: got\n\tb\nwant\n\tc\nrun with -update to rewrite"; got != want {
		t.Errorf("firstDifference = %q, want %q", got, want)
	}
}
