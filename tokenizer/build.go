package tokenizer

import (
	"errors"
	"fmt"
)

// maxSize bounds ids, so that a damaged file can't ask for all memory.
const maxSize = 1 << 20

// Parse reads the contents of a tokenizer.json. The result has no BOS and its EOS is -1: other files say which they are.
func Parse(raw []byte) (*BPE, error) {
	var f vocabFile
	if err := strict(raw, &f); err != nil {
		return nil, err
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	t := &BPE{
		facts: Facts{BOS: -1, EOS: -1, Pad: -1}, words: splitter{classes()}, cache: newWordCache(),
		added: [2]*spellings{newSpellings(), newSpellings()},
	}
	if err := t.addVocabulary(f.Model.Vocab); err != nil {
		return nil, err
	}
	if err := t.addMerges(f.Model.Merges, f.Model.Vocab); err != nil {
		return nil, err
	}
	if f.Model.IgnoreMerges {
		t.keepWhole(f.Model.Vocab)
	}
	return t, t.addTokens(f.AddedTokens, f.Model.Vocab)
}

// addVocabulary enters the tokens, and finds those of single bytes.
func (t *BPE) addVocabulary(vocab vocabulary) error {
	for name, id := range vocab {
		if err := t.set(id, tokenBytes(name), false); err != nil {
			return fmt.Errorf("vocab: token %q: %w", name, err)
		}
	}
	for b, r := range byteRunes {
		id, ok := vocab[string(r)]
		if !ok {
			return fmt.Errorf("vocab: byte %#x (%q) has no token", b, r)
		}
		t.letters[b] = id
	}
	return nil
}

// set gives an id to a token.
func (t *BPE) set(id int32, bytes string, special bool) error {
	if id < 0 || id >= maxSize {
		return fmt.Errorf("id is %d, want 0 to %d", id, maxSize-1)
	}
	for int(id) >= len(t.tokens) {
		t.tokens = append(t.tokens, token{})
	}
	if t.tokens[id].known {
		return fmt.Errorf("id is %d, which is that of %q", id, t.tokens[id].bytes)
	}
	t.tokens[id] = token{bytes: bytes, known: true, special: special}
	return nil
}

// addMerges enters the merges; their order is their rank.
func (t *BPE) addMerges(merges []mergeLine, vocab vocabulary) error {
	t.merges = newMergeTable(len(merges))
	for rank, m := range merges {
		a, okA := vocab[m[0]]
		b, okB := vocab[m[1]]
		id, ok := vocab[m[0]+m[1]]
		if !okA || !okB || !ok {
			return fmt.Errorf("merge %d is %q, want two tokens of the vocabulary that make a third", rank, m)
		}
		if !t.merges.add(a, b, merge{uint32(rank), id}) {
			return fmt.Errorf("merge %d is %q, as one before", rank, m)
		}
	}
	t.merges.index(&t.letters)
	return nil
}

// keepWhole makes every token a word that is not looked into. Those that are no bytes can't be met.
func (t *BPE) keepWhole(vocab vocabulary) {
	t.whole = make(map[string]int32, len(vocab))
	for name, id := range vocab {
		if bytes := tokenBytes(name); bytes != name || isPlain(name) {
			t.whole[bytes] = id
		}
	}
}

// isPlain tells whether all of name are bytes that stand for themselves.
func isPlain(name string) bool {
	for i := range len(name) {
		if name[i] < '!' || name[i] > '~' {
			return false
		}
	}
	return true
}

// addTokens enters the added tokens. One that the vocabulary has too must have its id.
func (t *BPE) addTokens(list []addedToken, vocab vocabulary) error {
	seen := make(map[string]bool, len(list))
	for _, a := range list {
		if err := a.check(); err != nil {
			return err
		}
		if seen[a.Content] {
			return fmt.Errorf("added token %q stands there twice", a.Content)
		}
		seen[a.Content] = true
		if err := t.addToken(a, vocab); err != nil {
			return fmt.Errorf("added token %q: %w", a.Content, err)
		}
	}
	return nil
}

func (t *BPE) addToken(a addedToken, vocab vocabulary) error {
	kind := 0
	if a.Normalized {
		kind = 1
	}
	t.added[kind].add(a.Content, a.ID)
	id, ok := vocab[a.Content]
	if !ok {
		return t.set(a.ID, tokenBytes(a.Content), a.Special)
	}
	if id != a.ID {
		return fmt.Errorf("id is %d, want %d as in the vocabulary", a.ID, id)
	}
	t.tokens[id].special = a.Special
	return nil
}

var errNoEnd = errors.New("no file names the token that ends a response: want eos_token in tokenizer_config.json or eos_token_id in generation_config.json")
