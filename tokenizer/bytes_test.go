package tokenizer

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

var _ Tokenizer = Bytes{}

func TestBytesIDs(t *testing.T) {
	var tok Bytes
	if got, want := tok.Encode("2+2=é\x00"), []int32{50, 43, 50, 61, 0xc3, 0xa9, 0}; !slices.Equal(got, want) {
		t.Errorf("Encode = %v, want %v", got, want)
	}
	if tok.BOS() != 256 || tok.EOS() != 257 || tok.Pad() != 258 || tok.Size() != 272 {
		t.Errorf("specials are %d %d %d of %d, want 256 257 258 of 272", tok.BOS(), tok.EOS(), tok.Pad(), tok.Size())
	}
}

func TestBytesDecodeSpecials(t *testing.T) {
	var tok Bytes
	for _, tt := range []struct {
		name string
		ids  []int32
		want string
	}{
		{"begin, end and padding have no text", []int32{256, 'a', 257, 258, 258}, "a"},
		{"nor have the reserved", []int32{259, 'a', 271}, "a"},
		{"beyond the vocabulary", []int32{'a', 272, -1}, "a\uFFFD\uFFFD"},
		{"no ids", nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tok.Decode(tt.ids); got != tt.want {
				t.Errorf("Decode(%v) = %q, want %q", tt.ids, got, tt.want)
			}
			if got := DecodeSpecial(tok, tt.ids); got != tt.want {
				t.Errorf("DecodeSpecial(%v) = %q, want %q", tt.ids, got, tt.want)
			}
		})
	}
}

func TestBytesIsSpecial(t *testing.T) {
	for _, tt := range []struct {
		id   int32
		want bool
	}{{-1, false}, {0, false}, {255, false}, {256, true}, {258, true}, {271, true}, {272, false}} {
		if got := (Bytes{}).IsSpecial(tt.id); got != tt.want {
			t.Errorf("IsSpecial(%d) = %v, want %v", tt.id, got, tt.want)
		}
	}
}

func TestStreamHoldsUnfinishedCharacters(t *testing.T) {
	s := NewStream(Bytes{})
	want := []string{"a", "", "é", "", "", "", "😀", "", "\xe2x", ""}
	for i, b := range []byte("aé😀\xe2x\xf0") {
		if got := s.Next(int32(b)); got != want[i] {
			t.Errorf("byte %d (%#x): Next = %q, want %q", i, b, got, want[i])
		}
	}
	if got := s.Flush(); got != "\xf0" {
		t.Errorf("Flush = %q, want the byte held back", got)
	}
	if got := s.Flush(); got != "" {
		t.Errorf("second Flush = %q, want none", got)
	}
}

func FuzzBytesRoundTrip(f *testing.F) {
	for _, s := range []string{"", "86*9-34=", "aé😀", "\xff\xfe", "\xe2\x82", "<|end|>", "\xed\xa0\x80", "\xf0\x9f\x98"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var tok Bytes
		ids := tok.Encode(text)
		if got := tok.Decode(ids); got != text {
			t.Fatalf("Decode(Encode(%q)) = %q", text, got)
		}
		checkStream(t, tok, ids, text)
	})
}

// checkStream decodes ids one by one: end to end the text must be the same, and a valid text must come in valid parts.
func checkStream(t *testing.T, tok Tokenizer, ids []int32, text string) {
	t.Helper()
	var all strings.Builder
	s := NewStream(tok)
	for _, id := range ids {
		part := s.Next(id)
		if utf8.ValidString(text) && !utf8.ValidString(part) {
			t.Fatalf("part %q of %q splits a character", part, text)
		}
		all.WriteString(part)
	}
	if rest := s.Flush(); utf8.ValidString(text) && rest != "" {
		t.Fatalf("%q is complete, but %q was held back", text, rest)
	} else if all.WriteString(rest); all.String() != text {
		t.Fatalf("stream of %q gave %q", text, all.String())
	}
}

func Example() {
	var tok Bytes
	ids := append(tok.Encode("40*8=320"), tok.EOS())
	fmt.Println(len(ids), tok.Decode(ids))

	s := NewStream(tok)
	for _, id := range tok.Encode("né") {
		fmt.Printf("%q ", s.Next(id))
	}
	fmt.Println()
	// Output:
	// 9 40*8=320
	// "n" "" "é"
}
