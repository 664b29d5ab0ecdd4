package tokenizer

import "fmt"

// BPE is a tokenizer of byte-level byte-pair encoding: text is cut into words, and in each word the bytes, and then the
// tokens, are merged pair by pair. [Open] loads one. Text that is no UTF-8 is encoded as [Valid] makes it; what is
// decoded is left as it is.
type BPE struct {
	facts   Facts
	tokens  []token
	letters [256]int32 // the tokens of single bytes
	merges  mergeTable
	whole   map[string]int32 // words that are tokens, where the file wants no merging of these; else nil
	words   splitter
	cache   *wordCache
	added   [2]*spellings // those found in the text as it is, then those that the file has found in normalised text
}

// A token is one entry of the vocabulary.
type token struct {
	bytes   string
	known   bool // false for an id that the file leaves out
	special bool
}

// Facts is what the files beside the vocabulary say of its use.
type Facts struct {
	BOS, EOS, Pad  int32   // -1 for a BOS that there is none of
	Stops          []int32 // tokens that end a response: EOS, and what generation_config.json adds
	AddBOS, AddEOS bool    // whether a text prompt gets them without asking
	MaxLength      int     // tokens, 0 if no file says
}

// Encode returns the ids of text. Text that spells a special or added token stays text.
func (t *BPE) Encode(text string) []int32 {
	return t.appendText(nil, Valid(text))
}

// EncodeSpecial returns the ids of text, in which special and added tokens are what they spell. Where two overlap the
// first counts, and the longer of those that begin at one place.
func (t *BPE) EncodeSpecial(text string) []int32 {
	return t.appendSpelled(nil, Valid(text), t.added[:])
}

// appendSpelled appends the ids of text, cut at the spellings of each kind in turn.
func (t *BPE) appendSpelled(ids []int32, text string, kinds []*spellings) []int32 {
	if len(kinds) == 0 {
		return t.appendText(ids, text)
	}
	for len(text) > 0 {
		id, start, end := kinds[0].find(text)
		ids = t.appendSpelled(ids, text[:start], kinds[1:])
		if start < end {
			ids = append(ids, id)
		}
		text = text[end:]
	}
	return ids
}

// appendText appends the ids of text word by word.
func (t *BPE) appendText(ids []int32, text string) []int32 {
	for i := 0; i < len(text); {
		end := t.words.end(text, i)
		ids = t.appendCached(ids, text[i:end])
		i = end
	}
	return ids
}

// appendCached appends the ids of a word that may have been seen before.
func (t *BPE) appendCached(ids []int32, word string) []int32 {
	if len(word) == 1 {
		return append(ids, t.letters[word[0]])
	}
	if id, ok := t.whole[word]; ok {
		return append(ids, id)
	}
	if len(word) > cacheLongest {
		return t.appendWord(ids, word)
	}
	slot := t.cache.slot(word)
	if seen := slot.Load(); seen != nil && seen.word == word {
		return append(ids, seen.ids...)
	}
	start := len(ids)
	ids = t.appendWord(ids, word)
	t.cache.put(slot, word, ids[start:])
	return ids
}

// Decode returns the bytes of ids, without the special tokens.
func (t *BPE) Decode(ids []int32) string {
	text := make([]byte, 0, 4*len(ids))
	for _, id := range ids {
		text = t.AppendToken(text, id)
	}
	return string(text)
}

// AppendToken appends the bytes of a token that is not special. Added tokens that are not special have their spelling.
func (t *BPE) AppendToken(dst []byte, id int32) []byte {
	if t.IsSpecial(id) {
		return dst
	}
	return t.AppendSpecial(dst, id)
}

// AppendSpecial appends the bytes of any token, and U+FFFD for an id without one.
func (t *BPE) AppendSpecial(dst []byte, id int32) []byte {
	if id < 0 || int(id) >= len(t.tokens) || !t.tokens[id].known {
		return append(dst, replacement...)
	}
	return append(dst, t.tokens[id].bytes...)
}

// IsSpecial tells whether the file calls a token special.
func (t *BPE) IsSpecial(id int32) bool {
	return id >= 0 && int(id) < len(t.tokens) && t.tokens[id].special
}

// ID returns the token that a text is the whole spelling of: an added or special one first, else one of the vocabulary.
func (t *BPE) ID(text string) (int32, error) {
	if ids := t.EncodeSpecial(text); len(ids) == 1 {
		return ids[0], nil
	}
	return 0, fmt.Errorf("token is %q, want one of the vocabulary", text)
}

// Facts returns what the files say of the vocabulary's use.
func (t *BPE) Facts() Facts { return t.facts }

// BOS returns the token that begins a text, -1 if there is none.
func (t *BPE) BOS() int32 { return t.facts.BOS }

// EOS returns the token that ends a response.
func (t *BPE) EOS() int32 { return t.facts.EOS }

// Pad returns the token that fills rows.
func (t *BPE) Pad() int32 { return t.facts.Pad }

// Size returns one more than the greatest id.
func (t *BPE) Size() int { return len(t.tokens) }
