package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"furlong/quant"
)

// A sideSpec is a side as the command line names it.
type sideSpec struct {
	text  string // as it was given
	kind  string // rollout, trainer, http, hf, dir
	place string // address or folder
	built builtSpec
}

// A builtSpec says how an engine of this binary is made.
type builtSpec struct {
	model  modelFlags
	format string // of weights; "" for the checkpoint's
	kv     string

	page, chunk, running, recent int // rollout; 0 takes the default
	noCache                      bool
	tokens                       int // of a micro-batch; 0 takes the default
	recompute                    bool
}

// parseSide reads a side of the command line.
func parseSide(text string) (s sideSpec, err error) {
	s.text = text
	head, rest, has := strings.Cut(text, ":")
	switch head {
	case "http", "https":
		s.kind, s.place = "http", strings.TrimRight(text, "/")
		return s, nil
	case "hf", "dir":
		if s.kind, s.place = head, rest; rest == "" {
			return s, fmt.Errorf("side is %q, want %s:PATH", text, head)
		}
		if head == "hf" {
			s.place = modelDir(s.place)
		}
		return s, nil
	case "rollout", "trainer":
		s.kind = head
		if has {
			err = s.built.read(text, head, rest)
		}
		return s, err
	}
	return s, fmt.Errorf("side is %q, want rollout[:options], trainer[:options], http://host:port, hf:DIR or dir:PATH", text)
}

// read reads options with commas between them, of the side that is called so.
func (b *builtSpec) read(side, kind, text string) error {
	var errs []error
	for part := range strings.SplitSeq(text, ",") {
		name, value, has := strings.Cut(part, "=")
		if err := b.option(kind, name, value, has); err != nil {
			errs = append(errs, fmt.Errorf("side %s: %w", side, err))
		}
	}
	return errors.Join(errs...)
}

// mostCount is more tokens, sequences or threads than any option of a side is good for: engines take memory for as many at once.
const mostCount = 1 << 20

// option reads one option.
func (b *builtSpec) option(kind, name, value string, has bool) error {
	if name == "recompute" && kind == "trainer" && !has {
		b.recompute = true
		return nil
	}
	if counts := b.counts(kind); counts[name] != nil {
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > mostCount {
			return fmt.Errorf("%s is %q, want a number from 1 to %d", name, value, mostCount)
		}
		*counts[name] = n
		return nil
	}
	switch {
	case name == "checkpoint" && value != "":
		b.model.Checkpoint = modelDir(value)
	case name == "format":
		if _, err := quant.ParseRecipe(value); err != nil {
			return fmt.Errorf("format: %w", err)
		}
		b.format = value
	case name == "dtype":
		return oneOf(name, value, &b.model.Format, "bf16", "f32")
	case name == "kv":
		return oneOf(name, value, &b.kv, "auto", "fp8_e4m3")
	case name == "backend":
		return oneOf(name, value, &b.model.Backend, "cpu", "ref")
	case name == "cache" && kind == "rollout":
		how := ""
		err := oneOf(name, value, &how, "on", "off")
		b.noCache = how == "off"
		return err
	default:
		return fmt.Errorf("option is %q, want one of: %s", name, b.names(kind))
	}
	return nil
}

// counts are the options that are numbers.
func (b *builtSpec) counts(kind string) map[string]*int {
	m := map[string]*int{"threads": &b.model.Threads}
	if kind == "rollout" {
		m["page"], m["chunk"], m["running"], m["recent"] = &b.page, &b.chunk, &b.running, &b.recent
	} else {
		m["tokens"] = &b.tokens
	}
	return m
}

func (b *builtSpec) names(kind string) string {
	if kind == "rollout" {
		return "checkpoint dtype format kv backend threads page chunk running recent cache"
	}
	return "checkpoint dtype format kv backend threads tokens recompute"
}

func oneOf(name, value string, to *string, want ...string) error {
	if !contains(want, value) {
		return fmt.Errorf("%s is %q, want %s", name, value, strings.Join(want, " or "))
	}
	*to = value
	return nil
}

// over returns the side with the model's flags where it says nothing itself.
func (s sideSpec) over(m modelFlags) sideSpec {
	b := &s.built.model
	if b.Checkpoint == "" {
		b.Checkpoint = m.Checkpoint
	}
	if b.Format == "" {
		b.Format = m.Format
	}
	if b.Backend == "" {
		b.Backend = m.Backend
	}
	if b.Threads == 0 {
		b.Threads = m.Threads
	}
	if s.built.format == "" {
		s.built.format = "bf16"
	}
	if s.built.kv == "" {
		s.built.kv = "auto"
	}
	return s
}
