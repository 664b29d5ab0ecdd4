package main

import (
	"bytes"
	"strings"
	"testing"

	"furlong/launchline"
)

// docs/flags.md is the table of flags as it is.
func TestFlagsPage(t *testing.T) {
	var b bytes.Buffer
	flagsPage(&b, newTrainFlags().set("train", ""))
	sameAs(t, "../../docs/flags.md", b.Bytes())
}

// A row of the table gives way to a setting of its name. Then it can go.
func TestNoRowIsASetting(t *testing.T) {
	set := newTrainFlags().set("train", "")
	isOption := map[string]bool{}
	for _, o := range set.Options() {
		isOption[o.Name] = true
	}
	var gone []string
	for _, o := range launchline.Options() {
		if !isOption[o.Name] {
			gone = append(gone, "--"+o.Name)
		}
	}
	if gone != nil {
		t.Errorf("%s: settings by now; take their rows out of launchline", strings.Join(gone, " "))
	}
}

// Every flag has a fate and a reason.
func TestKnownFlags(t *testing.T) {
	all := knownFlags(newTrainFlags().set("train", ""))
	if len(all) < 900 {
		t.Errorf("%d flags are known, want some 900", len(all))
	}
	seen := map[string]bool{}
	for _, k := range all {
		if k.Why == "" || k.From == "" || k.Fate == "" {
			t.Errorf("%+v: want a fate, where it comes from and why", k)
		}
		for _, name := range append(k.Others, k.Name) {
			if seen[name] {
				t.Errorf("--%s is known twice", name)
			}
			seen[name] = true
		}
	}
}
