package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"furlong/chat"
	"furlong/data"
	"furlong/reward"
	"furlong/rl"
	"furlong/tokenizer"
)

// longRead is the size of a file, in bytes, from which on reading it has a line of progress.
const longRead = 64 << 20

// openData reads files of prompts for a model, shows how far it has come, and logs what was found in each file.
func (e *env) openData(c data.Config, tok tokenizer.Tokenizer, model string, t talk) (*data.Set, error) {
	if _, plain := tok.(tokenizer.Bytes); !plain {
		var err error
		if c.Template, err = chat.For(tok, model); err != nil {
			return nil, err
		}
	}
	line, file := readingLine{env: e, talk: t}, 0
	before := int64(0)
	c.Progress = func(done, total int64) {
		if done < before {
			file++
		}
		before = done
		line.set("data file "+strconv.Itoa(file+1), done, total)
	}
	set, err := data.Open(c, tok)
	line.finish()
	if err != nil {
		return nil, err
	}
	for _, r := range set.Reports() {
		e.loaded(r)
	}
	return set, nil
}

// loaded says what was found in a file. What was left out is told to those too who want to see no progress.
func (e *env) loaded(r data.Report) {
	say := e.log.Info
	if r.Malformed+r.EmptyLabels+r.TooLong+r.Conflicts > 0 || r.Dropped && r.Duplicates > 0 {
		say = e.log.Warn
	}
	say("data loaded", "what", r.String())
}

// fitSet reports a prompt that leaves no room for a response.
func fitSet(set *data.Set, context int) error {
	if l := set.Longest(); l.Tokens >= context {
		return fmt.Errorf("%s: prompt %s has %d tokens, want fewer than --context-length (%d); --rollout-max-prompt-len leaves longer ones out", l.File, l.ID, l.Tokens, context)
	}
	return nil
}

// gradableSet is gradable for a set that need not fit into memory.
func (e *env) gradableSet(ctx context.Context, grades rl.Rewarder, set *data.Set) error {
	bad, all := 0, 0
	var first error
	for p, err := range set.All(false) {
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		all++
		if why := reward.Check(ctx, grades, []*rl.Prompt{p}); why != nil {
			bad++
			first = cmp.Or(first, why)
		}
	}
	if bad == 0 {
		return nil
	}
	_, why, _ := strings.Cut(first.Error(), "; ")
	err := fmt.Errorf("%d of %d labels cannot be graded; %s", bad, all, why)
	file := set.Report().File
	if bad == all {
		return fmt.Errorf("%s: %w", file, err)
	}
	e.log.Warn("labels", "file", file, "what", err.Error())
	return nil
}
