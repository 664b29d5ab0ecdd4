package config

import (
	"bytes"
	"flag"
	"testing"

	"furlong/internal/golden"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestPrintAndHelp(t *testing.T) {
	_, set := newEvery()
	set.Example("furlong test --switch", "with the switch")
	if err := set.Parse([]string{"--top-p", "inf", "--time", "90", "--env", "A=1", "--idle", "x"}); err != nil {
		t.Fatal(err)
	}
	for name, print := range map[string]func(*bytes.Buffer) error{
		"print.golden": func(b *bytes.Buffer) error { return set.PrintText(b) },
		"json.golden":  func(b *bytes.Buffer) error { return set.PrintJSON(b) },
		"flags.golden": func(b *bytes.Buffer) error { return set.PrintFlags(b) },
		"help.golden":  func(b *bytes.Buffer) error { return set.PrintHelp(b) },
	} {
		var b bytes.Buffer
		if err := print(&b); err != nil {
			t.Fatal(err)
		}
		golden.Compare(t, "testdata/"+name, b.Bytes(), *update)
	}
}
