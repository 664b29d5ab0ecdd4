package tokenizer

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode/utf8"
)

// seeds are pieces of text of the kinds that tokenizers treat differently.
var seeds = []string{
	"The quick brown fox can't jump over the lazy dog's 12 puppies.", "It's 3:45pm; we'll pay $1,234.56 (about 10%).",
	"func (t *BPE) Encode(text string) []int32 {\n\treturn nil // done\n}\n", "for (int i=0;i<n;++i) a[i]^=b[i]<<3&0xFF;",
	"def f(x):\n    if x == 1:\n        return x**2\n\n    raise ValueError(f\"{x!r}\")\n", "<div class=\"a\">&nbsp;</div>",
	"SELECT * FROM t WHERE a_b = 'x' -- none\r\n", "https://example.org/a?b=c&d=%20#e", "{\"key\": [1, 2.5e-3, null]}",
	"我们今天学习数学，答案是42。", "東京へ行きました。カタカナとひらがな、々〆", "한국어 문장입니다. 안녕하세요!", "ｆｕｌｌｗｉｄｔｈ１２３",
	"Привет, мир! Ёлка", "Ελληνικά και ἀρχαῖα", "שָׁלוֹם עוֹלָם", "مرحبا بالعالم ١٢٣", "नमस्ते दुनिया १२३", "สวัสดีชาวโลก", "ภาษาไทย๑๒๓",
	"naïve café Zoë ﬁ ǆ ß İı", "e\u0301a\u0300\u0327 \u0301", "😀😃👨‍👩‍👧‍👦🏳️‍🌈🇩🇪 👍🏽", "∑∫√≠≤ ∀x∈ℝ: x²≥0 ½ Ⅷ ① ⅷ", "→ ★ © ™ € £ ¥ ₿",
	"   ", "\t\t", "\n", "\r\n\r\n", " \n \n", "  \t \n  x", "\u00a0\u2003\u3000", "\u2028\u2029\u0085", "\v\f", "a\u00a0b\u3000c",
	"0", "12", "123", "1234", "1234567890", "1 22 333 4444", "１２３４", "٣٤٥٦", "3.14159265358979", "0x1F", "१२३४",
	"\x00", "\x01\x02", "\u200b\u200d\ufeff", "\u00ad", "\ue000\ue001", "\U000e0041", "\U0010ffff", "\u0378", "\x7f",
	"!!!", "...", "?!?!", "#include", " #", "@user", "_a_b_", "--flag", "`x`", "~/.x", "^^", "||", "\\n", "\"", "''", "$x", "a.b.c", " (", ")\n\n", ";\r\n",
	"_", "-", "a", "I", " a", " the", "Hello", "HELLO", "hello", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	"\xff", "\xc3", "\xe4\xbd", "\xf0\x9f\x98", "\xed\xa0\x80", "\xc0\xaf", "\x80\x80", "\xf4\x90\x80\x80", "\xe4\xbdx", "\xf0\x9f\x98\xe4",
	"<", "<|", "<｜", "｜", "｜>", "▁", "<｜User", "<think", "Ġ", "Ċ", "Ñĭ", "\U0001f600", "\u4e00\u9fa5\u9fa6\u9fff", "\u3040\u3097\u3099\u30a0\u30fb\u30ff\u3100",
	"\u1c89", "\U00010d40", "\u2427", "\u0897", "\U0001fae9", "\u088f", "\u20c1",
}

// varied returns n texts made of seeds, runs of these, and characters drawn from all planes; the same ones every time.
func varied(n int, special []string) []string {
	dice := rand.New(rand.NewPCG(11, 29))
	texts := append([]string{""}, seeds...)
	for len(texts) < n {
		var b strings.Builder
		for range 1 + dice.IntN(12) {
			piece(&b, dice, special)
		}
		texts = append(texts, b.String())
	}
	return texts
}

func piece(b *strings.Builder, dice *rand.Rand, special []string) {
	switch dice.IntN(8) {
	case 0:
		b.WriteString(strings.Repeat(seeds[dice.IntN(len(seeds))], 1+dice.IntN(4)))
	case 1:
		b.WriteString(special[dice.IntN(len(special))])
	case 2:
		for range 1 + dice.IntN(6) {
			b.WriteRune(anyRune(dice))
		}
	case 3:
		seed := seeds[dice.IntN(len(seeds))]
		b.WriteString(seed[dice.IntN(len(seed)):]) // often in the middle of a character
	case 4:
		for range 1 + dice.IntN(8) {
			b.WriteString(" \t\n\r .,1aA中é"[dice.IntN(10):][:1])
		}
	default:
		b.WriteString(seeds[dice.IntN(len(seeds))])
	}
}

// anyRune draws from all of Unicode, most often from where its characters are.
func anyRune(dice *rand.Rand) rune {
	top := []int{0x80, 0x800, 0x3100, 0x10000, 0x20000, utf8.MaxRune + 1}[dice.IntN(6)]
	for {
		if r := rune(dice.IntN(top)); utf8.ValidRune(r) {
			return r
		}
	}
}

// borders returns texts that hold the characters on both sides of each border between classes, beside letters, blanks,
// numbers, punctuation and Chinese, so that their class shows in the tokens.
func borders() []string {
	var texts []string
	for r := rune(1); r <= utf8.MaxRune; r++ {
		if classes()[r] == classes()[r-1] {
			continue
		}
		for _, c := range []rune{r - 1, r} {
			texts = append(texts, fmt.Sprintf("a%[1]cb %[1]c1 %[1]c  %[1]c!%[1]c\n%[1]c\u4e2d%[1]c %[1]c", c))
		}
	}
	return texts
}

// spellingsOf returns what added tokens are spelled like, in the order of their ids.
func spellingsOf(t *BPE) []string {
	var all []string
	for _, tok := range t.tokens {
		for _, kind := range t.added {
			if _, size := kind.longest(tok.bytes); size > 0 && size == len(tok.bytes) {
				all = append(all, tok.bytes)
			}
		}
	}
	return all
}
