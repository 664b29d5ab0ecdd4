package config

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

type knobs struct {
	Steps int      `flag:"num-rollout" help:"cycles"`
	LR    float64  `flag:"lr" help:"learning rate"`
	Names []string `flag:"names" help:"names"`
}

func TestLayersAndOrigins(t *testing.T) {
	c := knobs{Steps: 1, LR: 1}
	set := New("train", "").Add("All", &c).Layered("")
	set.readFile = func(path string) ([]byte, error) {
		if path != "my.flags" {
			return nil, errors.New("no such file")
		}
		return []byte("# mine\n[eval]\n--unknown-here 3\n[train]\n--lr 2 # twice\n--names\n  'a b' c\n"), nil
	}
	if err := set.Parse([]string{"--config", "my.flags", "--num-rollout", "9"}); err != nil {
		t.Fatal(err)
	}
	if want := (knobs{9, 2, []string{"a b", "c"}}); !reflect.DeepEqual(c, want) {
		t.Errorf("got %+v, want %+v", c, want)
	}
	var got []string
	for _, s := range set.Settings() {
		got = append(got, s.Name+": "+s.Origin)
	}
	want := "num-rollout: flag, lr: file my.flags:5, names: file my.flags:6, recipe: default, config: flag, extra-args: default"
	if strings.Join(got, ", ") != want {
		t.Errorf("origins are %s\nwant %s", strings.Join(got, ", "), want)
	}
}

func TestFileErrorsNameTheLine(t *testing.T) {
	c := knobs{}
	set := New("train", "").Add("All", &c).Layered("")
	set.readFile = func(string) ([]byte, error) {
		return []byte("--lr two\n--num-rolout 3\nstray\n--config other\n--extra-args '--lr 3 --x'\n--names 'open"), nil
	}
	err := set.Parse([]string{"--config", "f"})
	// "stray" goes with the unknown flag: how many words that takes is not known.
	want := strings.Join([]string{
		"file f:2: unknown flag --num-rolout, did you mean --num-rollout?",
		"file f:6: --names wants a value",
		"file f: line 6: quote ' is not closed",
		"file f:4: --config: a file of flags cannot name another",
		`file f:1: --lr is "two", want a number`,
		"file f:5 --extra-args: unknown flag --x; --help lists the flags",
	}, "\n")
	if got := fmt.Sprint(err); got != want {
		t.Errorf("errors are\n%s\nwant\n%s", got, want)
	}
	if c.LR != 3 {
		t.Errorf("lr is %v, want 3: extra arguments are read last", c.LR)
	}
}

func TestExtraArgsOfALowerLayerYield(t *testing.T) {
	c := knobs{}
	set := New("train", "").Add("All", &c).Layered("")
	set.readFile = func(string) ([]byte, error) { return []byte("--extra-args '--lr 1 --num-rollout 5'"), nil }
	if err := set.Parse([]string{"--lr", "2", "--config", "f"}); err != nil {
		t.Fatal(err)
	}
	if c.LR != 2 || c.Steps != 5 {
		t.Errorf("got %+v, want lr 2 and 5 steps", c)
	}
	if got, want := set.Settings()[0].Origin, "file f:1 --extra-args"; got != want {
		t.Errorf("origin is %q, want %q", got, want)
	}
	// What was printed stands for the whole, without the file.
	again := knobs{}
	if err := New("train", "").Add("All", &again).Layered("").Parse(set.Args()); err != nil || !reflect.DeepEqual(again.LR, c.LR) {
		t.Errorf("Args %q give %+v (%v), want %+v", set.Args(), again, err, c)
	}
}

func TestRecipe(t *testing.T) {
	c := struct {
		knobs
		Steps int `flag:"num-steps-per-rollout" help:"steps"`
	}{}
	set := New("train", "").Add("All", &c).Layered("tiny-arithmetic")
	err := set.Parse(nil)
	if err == nil || !strings.Contains(err.Error(), "recipe tiny-arithmetic:") {
		t.Fatalf("error is %v, want it to name the recipe and the line", err)
	}
	if c.Steps != 1 || set.Recipe() != "tiny-arithmetic" {
		t.Errorf("steps are %d from recipe %q, want 1 from tiny-arithmetic", c.Steps, set.Recipe())
	}
	set = New("train", "").Add("All", &c).Layered("tiny-arithmetic")
	if err := set.Parse([]string{"--recipe", "none"}); err != nil || set.Recipe() != "" {
		t.Errorf("without a recipe: error %v, recipe %q, want none of both", err, set.Recipe())
	}
}

func TestRecipesAreWellFormed(t *testing.T) {
	if len(Recipes()) == 0 {
		t.Fatal("no recipes")
	}
	for _, name := range Recipes() {
		text, err := Recipe(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{"train", "sft", "eval"} {
			list, err := scan(section(text, command), true)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			seen := map[string]bool{}
			for i, w := range list {
				if i == 0 && !isFlag(w.text) {
					t.Errorf("%s:%d: %q, want a flag", name, w.line, w.text)
				}
				if isFlag(w.text) && seen[w.text] {
					t.Errorf("%s:%d: %s is set twice", name, w.line, w.text)
				}
				seen[w.text] = true
			}
		}
	}
}

func TestNotesAndClaims(t *testing.T) {
	_, set := newEvery()
	err := set.Parse(strings.Fields("--idle 1 --idle 2 --held 1.0 --size 1 2 --extra-args --switch"))
	if err != nil {
		t.Fatal(err)
	}
	notes := []Note{{"idle", "2", "flag", "nothing to do", false, true}, {"held", "1.0", "flag", "there is one", true, true}}
	if !reflect.DeepEqual(set.Notes(), notes) {
		t.Errorf("notes are %+v, want %+v", set.Notes(), notes)
	}
	claims := []Claim{{"size", "1 2", "flag"}}
	if !reflect.DeepEqual(set.Claims(), claims) {
		t.Errorf("claims are %+v, want %+v", set.Claims(), claims)
	}
	for _, tt := range []struct {
		facts map[string]string
		want  string
	}{
		{map[string]string{"size": "1 2.0"}, "<nil>"},
		{map[string]string{"size": "1 3"}, "--size is '1 2', the model has '1 3'"},
		{nil, "--size: this model says nothing about it"},
	} {
		if got := fmt.Sprint(Check(claims, tt.facts)); got != tt.want {
			t.Errorf("Check(%v) = %s, want %s", tt.facts, got, tt.want)
		}
	}
}

func TestSettingsTakePrecedenceOverOptions(t *testing.T) {
	c := struct {
		Idle int `flag:"idle" help:"does something"`
	}{}
	set := New("test", "").Add("All", &c).Accept([]Option{{Name: "idle", Takes: One, Why: "nothing"}})
	if err := set.Parse([]string{"--idle", "3"}); err != nil || c.Idle != 3 || len(set.Notes()) != 0 {
		t.Errorf("idle is %d with notes %v (%v), want 3 and none", c.Idle, set.Notes(), err)
	}
}

// A lamp is a struct with flags that matter only beside others.
type lamp struct {
	On    bool    `flag:"on" help:"shine"`
	Watts float64 `flag:"watts" help:"how brightly"`
	Blink bool    `flag:"blink" help:"on and off"`
	Hue   string  `flag:"hue" help:"which colour"`
}

func (l lamp) Idle() map[string]string {
	if l.On {
		return nil
	}
	return map[string]string{"watts": "--on is not given", "blink": "--on is not given"}
}

func TestIdleFlags(t *testing.T) {
	for _, tt := range []struct{ args, want, notes string }{
		{"--on --watts 5 --blink", "", ""},
		{"--watts 5 --blink", "--watts changes nothing: --on is not given\n--blink changes nothing: --on is not given", ""},
		{"--watts 60 --no-blink", "", "watts 60 flag: --on is not given"}, // the default, and off in any case
		{"--watts x", `--watts is "x", want a number`, ""},
		{"--config file", "", ""},
		{"--extra-args '--watts 7'", "--watts changes nothing: --on is not given", ""},
		{"--hue red", "", "hue red flag: it is a lamp of one colour"},
	} {
		l := lamp{Watts: 60}
		set := New("lamp", "").Layered("").Add("All", &l).Unheeded("it is a lamp of one colour", "hue")
		set.readFile = func(string) ([]byte, error) { return []byte("--watts 5 --blink --hue red"), nil }
		args, err := Split(tt.args)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := set.Parse(args); err != nil {
			got = err.Error()
		}
		var notes []string
		for _, n := range set.Notes() {
			notes = append(notes, fmt.Sprintf("%s %s %s: %s", n.Flag, n.Value, n.Origin, n.Why))
		}
		if got != tt.want || strings.Join(notes, "\n") != tt.notes {
			t.Errorf("%s: error %q, notes %q, want %q, %q", tt.args, got, notes, tt.want, tt.notes)
		}
	}
}

// The line of another program says what that program takes: its flags without effect are noted.
func TestIdleFlagsOfAnotherProgram(t *testing.T) {
	set := New("lamp", "").Layered("").Add("All", &lamp{Watts: 60}).Presume(func(func(string) (string, bool)) Presumption {
		return Presumption{Recipe: "tiny-arithmetic", Why: "it burns"}
	})
	if err := set.Parse([]string{"--watts", "5"}); err != nil || len(set.Notes()) != 1 || set.Notes()[0].Why != "--on is not given" {
		t.Errorf("error %v, notes %v, want none and one", err, set.Notes())
	}
}

// A gauge knows of a flag that does nothing unless it is on, and lets people write it.
type gauge struct {
	On   bool `flag:"on" help:"measure"`
	Unit int  `flag:"unit" help:"of what"`
}

func (g gauge) Unheeded() map[string]string {
	if g.On {
		return nil
	}
	return map[string]string{"unit": "--on is not given"}
}

func TestNotedAsTheyStand(t *testing.T) {
	for args, want := range map[string]int{"--unit 5": 1, "--unit 5 --on": 0, "--on": 0} {
		var g gauge
		set := New("gauge", "").Add("All", &g)
		words, err := Split(args)
		if err != nil {
			t.Fatal(err)
		}
		if err := set.Parse(words); err != nil || len(set.Notes()) != want {
			t.Errorf("%s: %v, notes %v, want %d", args, err, set.Notes(), want)
		}
	}
}

// Help shows what a recipe puts in the place of a default, and nothing where it repeats it.
func TestHelpShowsTheRecipe(t *testing.T) {
	c := struct {
		Cycles int     `flag:"num-rollout" help:"cycles"`
		Low    float64 `flag:"eps-clip" help:"down"`
		LR     float64 `flag:"lr" help:"learning rate"`
		Save   int     `flag:"save-interval" help:"cycles between"`
		TIS    bool    `flag:"use-tis" help:"cap"`
		Keep   string  `flag:"keep" help:"what stays"`
	}{Cycles: 5, Low: 0.2, LR: 1e-6, Save: 20, Keep: "all"}
	var b strings.Builder
	if err := New("train", "").Layered("tiny-arithmetic").Add("All", &c).PrintHelp(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"cycles (default 5, recipe tiny-arithmetic 100)", "down (default 0.2)", "learning rate (default 1e-06, recipe tiny-arithmetic 0.00015)",
		"cycles between (default 20)", "cap (recipe tiny-arithmetic true)", "what stays (default all)",
	} {
		if !strings.Contains(b.String(), want+"\n") {
			t.Errorf("help does not say %q:\n%s", want, b.String())
		}
	}
}

// Lists that add up do so within a layer, and a higher layer takes the place of a lower one.
func TestListsThatAddUp(t *testing.T) {
	for _, tt := range []struct {
		args, file string
		adds, last string
	}{
		{"--adds a b --adds c", "", "[a b c]", "[]"},
		{"--adds a --adds=b", "", "[a b]", "[]"},
		{"--last a b --last c", "", "[]", "[c]"},
		{"--adds c", "--adds a\n--adds b", "[c]", "[]"},
		{"", "--adds a\n--adds b", "[a b]", "[]"},
		{"--adds a --extra-args '--adds b --adds c'", "", "[b c]", "[]"},
		{"--adds a --no-adds --adds b", "", "[b]", "[]"},
	} {
		var c struct {
			Adds []string `flag:"adds" again:"adds" help:"what there is"`
			Last []string `flag:"last" help:"what there was"`
		}
		set := New("test", "").Add("All", &c).Layered("")
		set.readFile = func(string) ([]byte, error) { return []byte(tt.file), nil }
		args, err := Split(tt.args)
		if err != nil {
			t.Fatal(err)
		}
		if tt.file != "" {
			args = append(args, "--config", "f")
		}
		if err := set.Parse(args); err != nil || fmt.Sprint(c.Adds) != tt.adds || fmt.Sprint(c.Last) != tt.last {
			t.Errorf("%s over %q: %v and %v, %v, want %s and %s", tt.args, tt.file, c.Adds, c.Last, err, tt.adds, tt.last)
		}
	}
}
