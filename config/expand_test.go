package config

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// a launcher has flags that stand for others.
type launcher struct {
	Batch  int      `flag:"batch" help:"how many"`
	Fast   bool     `flag:"fast" help:"how quickly"`
	Length int      `flag:"length,longest" help:"how long"`
	File   string   `flag:"file" help:"from where"`
	Names  []string `flag:"names" help:"who"`
}

func newLauncher() (*launcher, *Set) {
	c := &launcher{Batch: 1, Length: 10}
	return c, New("train", "").Add("All", c).Layered("").Bare("file", "{dir}/it").Accept([]Option{
		{Name: "dir", Takes: One, Kind: Expands, Why: "where", Senses: []Sense{{}}},
		{Name: "task", Takes: One, Kind: Expands, Why: "what", Senses: []Sense{
			{Value: "long", Flags: "--length 100 --file {dir}/long.jsonl"},
			{Value: "long", When: "quick=true", Flags: "--batch 3"},
			{Value: "short", Flags: "--length 5"},
		}},
		{Name: "quick", Takes: Switch, Kind: Expands, Why: "how", Senses: []Sense{{Value: "true", Flags: "--fast"}, {Value: "false"}}},
		{Name: "depth", Takes: One, Kind: Missing, Only: []string{"0"}, Why: "it is flat"},
		{Name: "log", Takes: Switch, Why: "nobody reads it"},
	})
}

func TestExpansion(t *testing.T) {
	for _, tt := range []struct {
		args, file string
		want       launcher
		err        string
	}{
		{args: "--task short", want: launcher{Batch: 1, Length: 5}},
		{args: "--task long --dir /a", want: launcher{Batch: 1, Length: 100, File: "/a/long.jsonl"}},
		{args: "--task long --dir '/a b' --quick", want: launcher{Batch: 3, Fast: true, Length: 100, File: "/a b/long.jsonl"}},
		{args: "--quick --no-quick", want: launcher{Batch: 1, Length: 10}},
		{args: "--quick=true", want: launcher{Batch: 1, Length: 10, Fast: true}},
		// In a layer, what is spelled out goes before what a flag stands for; later layers go before both.
		{args: "--length 7 --task short", want: launcher{Batch: 1, Length: 7}},
		{args: "--task short", file: "--length 8", want: launcher{Batch: 1, Length: 5}},
		{args: "--task short", file: "--task short --length 8", want: launcher{Batch: 1, Length: 8}},
		{args: "--length 7", file: "--task short", want: launcher{Batch: 1, Length: 7}},
		{args: "--dir /c", file: "--task long --dir /b --length 8", want: launcher{Batch: 1, Length: 8, File: "/c/long.jsonl"}},
		{args: "--length 7 --extra-args '--task short'", want: launcher{Batch: 1, Length: 5}},
		{args: "--extra-args '--task short'", want: launcher{Batch: 1, Length: 5}},
		{args: "--task short", file: "--task long --dir /b", want: launcher{Batch: 1, Length: 5}},
		{args: "--dir /c", file: "--task long --dir /b", want: launcher{Batch: 1, Length: 100, File: "/c/long.jsonl"}},
		{args: "--task None --names None", want: launcher{Batch: 1, Length: 10}},
		{args: "--length None", file: "--length 8", want: launcher{Batch: 1, Length: 8}},
		{args: "--file --dir /a", want: launcher{Batch: 1, Length: 10, File: "/a/it"}},
		{args: "--file x --dir /a", want: launcher{Batch: 1, Length: 10, File: "x"}},
		{args: "--no-file", file: "--file x", want: launcher{Batch: 1, Length: 10}},
		{args: "--file", err: "--file without a value needs --dir"},
		{args: "--task wide", err: "--task is wide, want long or short"},
		{args: "--task long", err: "--task needs --dir"},
		{file: "--quick=maybe", err: "file f:1: --quick is maybe, want true or false"},
	} {
		c, set := newLauncher()
		set.readFile = func(string) ([]byte, error) { return []byte(tt.file), nil }
		args, err := Split(tt.args)
		if err != nil {
			t.Fatal(err)
		}
		if tt.file != "" {
			args = append(args, "--config", "f")
		}
		err = set.Parse(args)
		switch {
		case tt.err != "":
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: error is %v, want %s", tt.args, err, tt.err)
			}
		case err != nil || !reflect.DeepEqual(*c, tt.want):
			t.Errorf("%s over %s: %+v, %v, want %+v", tt.args, tt.file, *c, err, tt.want)
		}
	}
}

func TestExpansionsAndLacksAreTold(t *testing.T) {
	_, set := newLauncher()
	if err := set.Parse(strings.Fields("--task short --quick --depth 3 --log")); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := set.PrintText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\nfast        --quick       true\n", "\nlength      --task short  5\n", "\ndepth 3                      flag    it is flat\n", "\nlog           flag    nobody reads it\n",
		"\ntask short  flag    --length 5\n", "\nquick       flag    --fast\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
	// The last word counts, also where it asks for nothing.
	_, set = newLauncher()
	if err := set.Parse(strings.Fields("--depth 3 --depth 0 --log --no-log")); err != nil || len(set.Lacks()) != 0 || len(set.Notes()) != 2 {
		t.Errorf("error %v, lacks %v, notes %v, want no lack and two notes", err, set.Lacks(), set.Notes())
	}
}

func TestTwoNamesOfOneSetting(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"--length 5 --longest 5.0", `--length is "5.0", want a whole number of 64 bits`},
		{"--length 5 --longest 5", ""},
		{"--length 5 --length 6", ""},
		{"--length 5 --longest 6", "--length 5 and --longest 6 are two names of one setting, want one value"},
		{"--length 5 --extra-args '--longest 6'", ""}, // later layers override
		{"--fast --no-fast", ""},
		{"--fast --no-rapid", "--fast and --no-rapid are two names of one setting, want one value"},
	} {
		_, set := newLauncher()
		set.Also("fast", "rapid")
		args, err := Split(tt.args)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := set.Parse(args); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.args, got, tt.want)
		}
	}
}

func TestBelowAndPresume(t *testing.T) {
	c, set := newLauncher()
	set.Below("variable X", "--batch", "5", "--length=6").Presume(func(said func(string) (string, bool)) Presumption {
		if n, given := said("longest"); given && n == "9" {
			return Presumption{Recipe: "none", Why: "it is long", Flags: []string{"--batch", "4", "--file", "x"}, Origin: "its length"}
		}
		return Presumption{Recipe: "tiny-arithmetic", Why: "it is short"}
	})
	set.readFile = func(string) ([]byte, error) { return []byte("--length 7"), nil }
	if err := set.Parse(strings.Fields("--config f --longest 9")); err != nil {
		t.Fatal(err)
	}
	if c.Batch != 5 || c.Length != 9 || set.byName["batch"].Origin != "variable X" || set.Presumed().Recipe != "none" || set.Presumed().Why != "it is long" {
		t.Errorf("got %+v, origin %s, presumed %v", *c, set.byName["batch"].Origin, set.Presumed())
	}
	_, set = newLauncher()
	set.Presume(func(func(string) (string, bool)) Presumption {
		return Presumption{Recipe: "tiny-arithmetic", Why: "it is short", Flags: []string{"--batch", "4"}}
	})
	if err := set.Parse([]string{"--recipe", "none"}); err != nil || set.Recipe() != "" || set.Presumed().Recipe != "" || set.byName["batch"].Origin != "default" {
		t.Errorf("a named recipe: error %v, recipe %q, presumed %v, want none", err, set.Recipe(), set.Presumed())
	}
	if err := fmt.Sprint(New("train", "").Layered("").Below("variable Y", "--no-such", "1").Parse(nil)); !strings.Contains(err, "variable Y: unknown flag --no-such") {
		t.Errorf("an unknown flag of a variable: %s", err)
	}
}

// Variables of a launch line: line breaks, quotes, = in values, comments, and JSON.
func TestReadEnv(t *testing.T) {
	for _, tt := range []struct {
		text, err string
		want      map[string]string
	}{
		{text: "A=1 B=2\nC=3\n\tD=4", want: map[string]string{"A": "1", "B": "2", "C": "3", "D": "4"}},
		{text: "URL=http://h/?a=b&c=d", want: map[string]string{"URL": "http://h/?a=b&c=d"}},
		{text: `A='x y' B="z\"w" C=`, want: map[string]string{"A": "x y", "B": `z"w`, "C": ""}},
		{text: "# for tracing\nA=1 # one\nB=#2", want: map[string]string{"A": "1", "B": "#2"}},
		{text: `{"A": "x y", "B": 2}`, want: map[string]string{"A": "x y", "B": "2"}},
		{text: "A=1 A=2", want: map[string]string{"A": "2"}},
		{text: "", want: map[string]string{}},
		{text: "A", err: `"A", want NAME=VALUE`},
		{text: "1A=2", err: `"1A=2", want NAME=VALUE`},
		{text: "A='x", err: "quote ' is not closed"},
	} {
		got, err := ReadEnv(tt.text)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q: error is %v, want %s", tt.text, err, tt.err)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%q: %v, %v, want %v", tt.text, got, err, tt.want)
		}
	}
}

// FuzzExpand: no line panics, and what it gives is given again by what is printed.
func FuzzExpand(f *testing.F) {
	f.Add("--task long --dir /a --quick --length 3 --names a b")
	f.Add("--task short --extra-args '--no-quick --depth 2' --file --dir 'a b' --log")
	f.Add("--longest 3 --length None --task None --depth=0 --no-file")
	f.Fuzz(func(t *testing.T, text string) {
		args, err := Split(text)
		if err != nil {
			return
		}
		first, set := newLauncher()
		set.readFile = func(string) ([]byte, error) { return []byte(text), nil }
		if set.Parse(args) != nil {
			return
		}
		second, again := newLauncher()
		if err := again.Parse(set.Given()); err != nil {
			t.Fatalf("printed %q cannot be parsed: %v", set.Given(), err)
		}
		if len(first.Names) == 0 && len(second.Names) == 0 {
			first.Names, second.Names = nil, nil
		}
		if !reflect.DeepEqual(first, second) {
			t.Fatalf("%q gives %+v, printed as %q gives %+v", args, first, set.Given(), second)
		}
	})
}
