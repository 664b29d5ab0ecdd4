package tokenizer

import (
	"hash/fnv"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// words cuts a text.
func words(text string) (out []string) {
	s := splitter{classes()}
	for i := 0; i < len(text); {
		end := s.end(text, i)
		out = append(out, text[i:end])
		i = end
	}
	return out
}

func TestWords(t *testing.T) {
	for _, tt := range []struct{ text, want string }{ // words are parted by |
		{"The cat isn't 12345 years", "The| cat| isn|'t| |123|45| years"},
		{"a  b   c", "a| | b|  | c"},
		{"ends in blanks  ", "ends| in| blanks|  "},
		{"before a number  1", "before| a| number|  |1"},
		{"before Chinese  中文 x", "before| Chinese|  |中文| x"},
		{"two\n\n  lines \n x", "two|\n\n| | lines| \n| x"},
		{" \n \n  ", " \n \n|  "},
		{"tab\tand\u00a0space", "tab|\tand|\u00a0space"},
		{"x := f(y);\r\n\r\ny++", "x| :=| f|(y|);\r\n\r\n|y|++"},
		{"...and !x", "...|and| !|x"},
		{"「引用」カタカナ・ひらがな々", "「|引用|」|カタカナ・ひらがな|々"},
		{"e\u0301 \u0301a \u0301", "e\u0301| \u0301a| \u0301"},
		{"\x01\x02a\x03", "\x01|\x02a|\x03"},
		{"\x01\x02\x03", "\x01\x02\x03"},
		{" \x01 \x02", " |\x01| |\x02"},
		{"½²Ⅷ٣", "½²Ⅷ|٣"},
		{"", ""},
	} {
		if got := strings.Join(words(tt.text), "|"); got != tt.want {
			t.Errorf("words of %q are %q, want %q", tt.text, got, tt.want)
		}
	}
}

// TestClasses pins the class of every character: TestLibrary has seen these to be the library's.
func TestClasses(t *testing.T) {
	table := classes()
	bytes := make([]byte, len(table))
	count := map[class]int{}
	for r, c := range table {
		bytes[r] = byte(c)
		count[c]++
	}
	h := fnv.New64a()
	h.Write(bytes)
	if got, want := h.Sum64(), uint64(0xcba202e17882960c); got != want {
		t.Errorf("digest of the classes is %#x, want %#x; they count %v", got, want, count)
	}
}

func TestParseClassesRefuses(t *testing.T) {
	for _, text := range []string{"L\nx", "L\n5-4", "L\n110000", "L\n-4", "L\n4-", "Q\n1"} {
		var table [utf8.MaxRune + 1]class
		if err := parseClasses(text, &table); err == nil {
			t.Errorf("parseClasses(%q) has no error", text)
		}
	}
}

func TestValid(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"plain é 中 😀", "plain é 中 😀"},
		{"a\xffb", "a\uFFFDb"},
		{"\xff\xfe", "\uFFFD\uFFFD"},
		{"\xe4\xbd", "\uFFFD"},   // the beginning of one character is one mistake
		{"\xe4\xbdx", "\uFFFDx"}, // wherever it breaks off
		{"\xf0\x9f\x98\xe4", "\uFFFD\uFFFD"},
		{"\xed\xa0\x80", "\uFFFD\uFFFD\uFFFD"}, // a surrogate is none from its second byte on
		{"\xc0\xaf", "\uFFFD\uFFFD"},
		{"\xe0\x80", "\uFFFD\uFFFD"},
		{"\xf0\x80", "\uFFFD\uFFFD"},
		{"\xf4\x90", "\uFFFD\uFFFD"},
		{"\xf4\x8f\xbf", "\uFFFD"},
		{"\x80", "\uFFFD"},
		{"\uFFFD", "\uFFFD"},
	} {
		if got := Valid(tt.text); got != tt.want {
			t.Errorf("Valid(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
}

func FuzzWords(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = Valid(text)
		if !utf8.ValidString(text) {
			t.Fatalf("Valid left %q", text)
		}
		parts := words(text)
		if strings.Join(parts, "") != text || slices.Contains(parts, "") {
			t.Fatalf("words of %q are %q", text, parts)
		}
		for _, w := range parts {
			if !utf8.ValidString(w) {
				t.Fatalf("word %q of %q splits a character", w, text)
			}
		}
	})
}
