package tokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// What follows is the form of tokenizer.json. A field that is not listed is refused by name, since what it asks for
// would change the tokens.

type vocabFile struct {
	Version       string          `json:"version"`
	Truncation    json.RawMessage `json:"truncation"`
	Padding       json.RawMessage `json:"padding"`
	AddedTokens   []addedToken    `json:"added_tokens"`
	Normalizer    json.RawMessage `json:"normalizer"`
	PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Decoder       json.RawMessage `json:"decoder"`
	Model         vocabModel      `json:"model"`
}

type addedToken struct {
	ID         int32  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

type vocabModel struct {
	Type         string      `json:"type"`
	Dropout      *float64    `json:"dropout"`
	UnkToken     *string     `json:"unk_token"`
	Prefix       *string     `json:"continuing_subword_prefix"`
	Suffix       *string     `json:"end_of_word_suffix"`
	FuseUnk      bool        `json:"fuse_unk"`
	ByteFallback bool        `json:"byte_fallback"`
	IgnoreMerges bool        `json:"ignore_merges"`
	Vocab        vocabulary  `json:"vocab"`
	Merges       []mergeLine `json:"merges"`
}

// A vocabulary is the object of tokens and ids; a token that occurs twice is an error.
type vocabulary map[string]int32

func (v *vocabulary) UnmarshalJSON(raw []byte) error {
	*v = vocabulary{}
	d := json.NewDecoder(bytes.NewReader(raw))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return fmt.Errorf("vocab begins with %v, want an object", open)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var id int32
		if err := d.Decode(&id); err != nil {
			return fmt.Errorf("vocab: token %q: %w", name, err)
		}
		key := name.(string) // in an object a key is a string
		if _, twice := (*v)[key]; twice {
			return fmt.Errorf("vocab: token %q stands there twice", key)
		}
		(*v)[key] = id
	}
	return nil
}

// A mergeLine is two tokens, written as a list or as a string with one blank between.
type mergeLine [2]string

func (m *mergeLine) UnmarshalJSON(raw []byte) error {
	var pair []string
	if raw[0] == '[' {
		if err := json.Unmarshal(raw, &pair); err != nil {
			return err
		}
	} else {
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return err
		}
		pair = strings.Split(text, " ")
	}
	if len(pair) != 2 {
		return fmt.Errorf("merge is %s, want two tokens", raw)
	}
	*m = mergeLine(pair)
	return nil
}

// strict decodes one JSON value without fields that v doesn't have.
func strict(raw []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more follows after the value, want its end")
	}
	return nil
}

// absent tells whether a field is not there or null.
func absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// check refuses what this package does not do.
func (f *vocabFile) check() error {
	if f.Version != "1.0" {
		return fmt.Errorf("version is %q, want 1.0", f.Version)
	}
	for _, part := range []struct {
		name string
		raw  json.RawMessage
	}{{"truncation", f.Truncation}, {"padding", f.Padding}} {
		if !absent(part.raw) {
			return fmt.Errorf("%s is %.80s, want null", part.name, part.raw)
		}
	}
	return errors.Join(checkNormalizer(f.Normalizer), checkSplits(f.PreTokenizer),
		checkByteLevel("post_processor", f.PostProcessor, true), checkByteLevel("decoder", f.Decoder, false), f.Model.check())
}

// check refuses kinds of models other than plain byte-level BPE.
func (m *vocabModel) check() error {
	var errs []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf("model: "+format, args...))
		}
	}
	bad(m.Type != "BPE", "type is %q, want BPE", m.Type)
	bad(m.Dropout != nil && *m.Dropout != 0, "dropout is set, want null")
	bad(m.UnkToken != nil, "unk_token is set, want null: every byte is known")
	bad(m.Prefix != nil && *m.Prefix != "", "continuing_subword_prefix is set, want null")
	bad(m.Suffix != nil && *m.Suffix != "", "end_of_word_suffix is set, want null")
	bad(m.FuseUnk, "fuse_unk is true, want false")
	bad(m.ByteFallback, "byte_fallback is true, want false: bytes are tokens")
	return errors.Join(errs...)
}

// check refuses tokens whose place in text depends on what stands around.
func (a addedToken) check() error {
	switch {
	case a.Content == "":
		return fmt.Errorf("added token %d has no content", a.ID)
	case a.SingleWord:
		return fmt.Errorf("added token %q: single_word is true, want false", a.Content)
	case a.LStrip:
		return fmt.Errorf("added token %q: lstrip is true, want false", a.Content)
	case a.RStrip:
		return fmt.Errorf("added token %q: rstrip is true, want false", a.Content)
	}
	return nil
}
