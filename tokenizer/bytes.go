package tokenizer

// The ids beyond the bytes. Those from 259 to 271 are reserved.
const (
	byteBOS  = 256
	byteEOS  = 257
	bytePad  = 258
	byteSize = 272
)

// replacement stands for an id that no tokenizer hands out.
const replacement = "\uFFFD"

// Bytes is the tokenizer whose ids 0..255 are the bytes. The zero value is ready.
type Bytes struct{}

// Encode returns one id for each byte of text.
func (Bytes) Encode(text string) []int32 {
	ids := make([]int32, len(text))
	for i := range len(text) {
		ids[i] = int32(text[i])
	}
	return ids
}

// EncodeSpecial is Encode: the special tokens have no spelling.
func (t Bytes) EncodeSpecial(text string) []int32 { return t.Encode(text) }

// Decode returns the bytes of ids.
func (t Bytes) Decode(ids []int32) string {
	text := make([]byte, 0, len(ids))
	for _, id := range ids {
		text = t.AppendToken(text, id)
	}
	return string(text)
}

// AppendToken appends the byte id stands for, if it stands for one.
func (Bytes) AppendToken(dst []byte, id int32) []byte {
	switch {
	case id < 0 || id >= byteSize:
		return append(dst, replacement...)
	case id >= byteBOS:
		return dst
	}
	return append(dst, byte(id))
}

// AppendSpecial is AppendToken: the special tokens have no spelling.
func (t Bytes) AppendSpecial(dst []byte, id int32) []byte { return t.AppendToken(dst, id) }

// IsSpecial is true of the ids from 256, the reserved ones included.
func (Bytes) IsSpecial(id int32) bool { return id >= byteBOS && id < byteSize }

// BOS returns 256.
func (Bytes) BOS() int32 { return byteBOS }

// EOS returns 257.
func (Bytes) EOS() int32 { return byteEOS }

// Pad returns 258.
func (Bytes) Pad() int32 { return bytePad }

// Size returns 272.
func (Bytes) Size() int { return byteSize }
