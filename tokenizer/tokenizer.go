package tokenizer

// A Tokenizer turns text into token ids and back. Its methods may be called from several goroutines at once.
type Tokenizer interface {
	// Encode returns the ids of text. It adds no special token, and text that spells one stays text.
	Encode(text string) []int32
	// Decode returns the text of ids, bytes that are no UTF-8 included. Special tokens have no text.
	Decode(ids []int32) string
	// AppendToken appends the bytes of one token to dst: none for a special token, part of a character for some others.
	AppendToken(dst []byte, id int32) []byte
	BOS() int32 // begins a text, where the template wants that
	EOS() int32 // ends a response
	Pad() int32 // fills rows that nobody reads
	Size() int  // ids are 0..Size()-1
}
