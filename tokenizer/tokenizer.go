package tokenizer

// A Tokenizer turns text into token ids and back. Its methods may be called from several goroutines at once.
type Tokenizer interface {
	// Encode returns the ids of text. It adds no special token, and text that spells one stays text.
	Encode(text string) []int32
	// EncodeSpecial is Encode for text that is trusted: where it spells a special or added token, it means it.
	EncodeSpecial(text string) []int32
	// Decode returns the text of ids, bytes that are no UTF-8 included. Special tokens have no text.
	Decode(ids []int32) string
	// AppendToken appends the bytes of one token to dst: none for a special token, part of a character for some others.
	AppendToken(dst []byte, id int32) []byte
	// AppendSpecial is AppendToken, but a special token gives its spelling, if it has one.
	AppendSpecial(dst []byte, id int32) []byte
	// IsSpecial tells whether id is a token that Decode leaves out.
	IsSpecial(id int32) bool
	BOS() int32 // begins a text, where the template wants that; -1 for a vocabulary without
	EOS() int32 // ends a response
	Pad() int32 // fills rows that nobody reads
	Size() int  // ids are 0..Size()-1
}

// DecodeSpecial returns the text of ids with the spellings of special tokens.
func DecodeSpecial(t Tokenizer, ids []int32) string {
	var text []byte
	for _, id := range ids {
		text = t.AppendSpecial(text, id)
	}
	return string(text)
}
