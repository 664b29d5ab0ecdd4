package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"furlong/chat"
	"furlong/server"
	"furlong/tokenizer"
)

// words gives a server the tokenizer: that of a directory, or bytes for a model that has none.
func (f servedFlags) words(p *server.Parts, log *slog.Logger) error {
	dir := cmp.Or(f.Tokenizer, f.Model)
	if f.SkipTok {
		return nil
	}
	_, err := os.Stat(filepath.Join(dir, "tokenizer.json"))
	switch {
	case dir == "" || errors.Is(err, fs.ErrNotExist) && f.Tokenizer == "":
		if dir != "" {
			log.Warn("no tokenizer.json, tokens are bytes", "path", dir)
		}
		p.Tokenizer, p.StopIDs = tokenizer.Bytes{}, []int32{tokenizer.Bytes{}.EOS()}
	default:
		t, err := tokenizer.Open(dir)
		if err != nil {
			return err
		}
		facts := t.Facts()
		p.Tokenizer, p.Begin, p.StopIDs = t, facts.AddBOS, facts.Stops
	}
	if t, err := chat.For(p.Tokenizer, dir); err != nil {
		log.Warn("no chat template, /v1/chat/completions is off", "why", err.Error())
	} else {
		p.Template = t
	}
	if size := p.Tokenizer.Size(); size > p.Model.Vocab {
		return fmt.Errorf("%s: the tokenizer has %d tokens, want at most the %d of the model", dir, size, p.Model.Vocab)
	}
	p.StopIDs = slices.Compact(slices.Sorted(slices.Values(p.StopIDs)))
	return nil
}
