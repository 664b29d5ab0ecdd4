package config

import (
	"bytes"
	"reflect"
	"testing"
)

// FuzzParse: no text panics, and what was parsed can be printed, as arguments and as a file, and parsed to the same.
func FuzzParse(f *testing.F) {
	f.Add("--words a b --no-words --ints 1 2 --env A=1 --bytes 3MiB --maybe out -- rest")
	f.Add("--text=--switch --extra-args '--int 3 --words=--x' --level ii --top-p 1e-3 --no-maybe")
	f.Add(`--env '{"A":"b c","D":2}' --text "a\"b" --time 1.5 -- '' ''`)
	f.Fuzz(func(t *testing.T, text string) {
		args, err := Split(text)
		if err != nil {
			return
		}
		first, set := newEvery()
		set.readFile = func(string) ([]byte, error) { return []byte(text), nil }
		if set.Parse(args) != nil {
			return
		}
		if Quote(args...) != "" {
			if back, err := Split(Quote(args...)); err != nil || !reflect.DeepEqual(back, args) {
				t.Fatalf("Split(Quote(%q)) = %q, %v", args, back, err)
			}
		}
		second, again := newEvery()
		if err := again.Parse(set.Args()); err != nil {
			t.Fatalf("printed %q cannot be parsed: %v", set.Args(), err)
		}
		if !reflect.DeepEqual(normal(first), normal(second)) {
			t.Fatalf("%q gives %+v, printed as %q gives %+v", args, first, set.Args(), second)
		}
		var file bytes.Buffer
		if err := set.PrintFlags(&file); err != nil {
			t.Fatal(err)
		}
		third, fromFile := newEvery()
		fromFile.readFile = func(string) ([]byte, error) { return file.Bytes(), nil }
		if err := fromFile.Parse([]string{"--config", "f"}); err != nil {
			t.Fatalf("printed file cannot be parsed: %v\n%s", err, file.Bytes())
		}
		third.Out, third.Rest = first.Out, first.Rest
		if !reflect.DeepEqual(normal(first), normal(third)) {
			t.Fatalf("%q gives %+v, as a file %+v", args, first, third)
		}
	})
}

// normal makes empty and absent alike: a flag cannot tell them apart.
func normal(c *every) every {
	n := *c
	if len(n.Env) == 0 {
		n.Env = nil
	}
	if len(n.Words) == 0 {
		n.Words = nil
	}
	if len(n.Ints) == 0 {
		n.Ints = nil
	}
	if len(n.Rest) == 0 {
		n.Rest = nil
	}
	return n
}

func FuzzScan(f *testing.F) {
	f.Add("--x 'a b' \"c\\\"d\" e\\ f # g\n[train]\n--y")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := scan(section(text, "train"), true)
		if err != nil {
			return
		}
		for _, w := range list {
			back, err := Split(Quote(w.text))
			if err != nil || len(back) != 1 || back[0] != w.text {
				t.Fatalf("Split(Quote(%q)) = %q, %v", w.text, back, err)
			}
		}
	})
}
