package tokenizer

import "unicode/utf8"

// A Stream decodes tokens as they come and never splits a UTF-8 character: what Next and Flush return, end to end, is
// what Decode, or DecodeSpecial, returns for all the ids. Bytes that can no longer become a character are passed on as they are.
type Stream struct {
	appendTo func(dst []byte, id int32) []byte
	held     []byte // the beginning of a character
}

// NewStream returns a stream at the beginning of a text, in which special tokens have no text.
func NewStream(t Tokenizer) *Stream { return &Stream{appendTo: t.AppendToken} }

// NewSpecialStream returns a stream at the beginning of a text, in which special tokens are spelled out.
func NewSpecialStream(t Tokenizer) *Stream { return &Stream{appendTo: t.AppendSpecial} }

// Next takes one token and returns the text that is now certain, often none.
func (s *Stream) Next(id int32) string {
	s.held = s.appendTo(s.held, id)
	n := certain(s.held)
	text := string(s.held[:n])
	s.held = append(s.held[:0], s.held[n:]...)
	return text
}

// Flush returns what is still held back, an unfinished character, and starts afresh.
func (s *Stream) Flush() string {
	text := string(s.held)
	s.held = s.held[:0]
	return text
}

// certain returns how many bytes of b stand before an unfinished character at its end.
func certain(b []byte) int {
	for i := max(0, len(b)-utf8.UTFMax+1); i < len(b); i++ {
		if utf8.RuneStart(b[i]) && !utf8.FullRune(b[i:]) {
			return i
		}
	}
	return len(b)
}
