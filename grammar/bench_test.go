package grammar

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// large is a vocabulary of 130,000 tokens in about the shares of a large model's: words with and without a space before, capitals, punctuation and
// what code has, numbers, Chinese and accents, runs of white space, and each byte.
func large() *Vocabulary {
	dice := rand.New(rand.NewPCG(130, 0))
	pick := func(list string) string { words := strings.Fields(list); return words[dice.IntN(len(words))] }
	word := func() string {
		var b strings.Builder
		for range 1 + dice.IntN(4) {
			b.WriteString(pick("a e i o u th er on an re in st en at te or es ing ion con pro com pre ment able ly ness tion al ic ous b c d f g h k l m n p r s t v w y z"))
		}
		return b.String()
	}
	rune3 := func() string { return string(rune(0x4e00 + dice.IntN(6000))) }
	kinds := []func() string{
		word, word, func() string { return " " + word() }, func() string { return " " + word() }, func() string { return " " + word() },
		func() string { w := word(); return strings.ToUpper(w[:1]) + w[1:] }, func() string { return " " + strings.ToUpper(word()) },
		func() string {
			return pick(`" ", ": "}, {" "] [" ": " </ /> > () ({ }) ; :: -> => == != && || // /* */ <? ?> ." !" ?" )" ,\ \n \" \\ " "" "" {{ }} '' ' : , . ! ( ) [ ] # $ % & * + - = @ ^ _ | ~`) + pick(`" , . : ) ( ] [ } { / \ - = _ x`)
		},
		func() string { return strings.Repeat(string(rune('0'+dice.IntN(10))), 1+dice.IntN(3)) },
		rune3, func() string { return rune3() + rune3() }, func() string { return word() + pick("é ü ñ ç ø я д к α β ا ب か の") },
		func() string { return strings.Repeat(pick("= - * # . / _"), 1+dice.IntN(20)) },
		func() string { return strings.Repeat("\n", dice.IntN(3)) + strings.Repeat(" ", 1+dice.IntN(40)) },
	}
	texts := []string{""}
	seen := map[string]bool{"": true}
	add := func(s string) {
		if !seen[s] {
			seen[s] = true
			texts = append(texts, s)
		}
	}
	for b := range 256 {
		add(string([]byte{byte(b)}))
	}
	for len(texts) < 130000 {
		add(kinds[dice.IntN(len(kinds))]())
	}
	return NewVocabulary(len(texts), func(id int32) []byte { return []byte(texts[id]) }, []int32{0})
}

const benchSchema = `{"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0, "maximum": 150},
	"tags": {"type": "array", "items": {"enum": ["red", "green", "blue"]}}, "address": {"type": "object", "properties": {"street": {"type": "string"},
	"zip": {"type": "string", "pattern": "^[0-9]{5}$"}}, "required": ["street", "zip"]}, "notes": {"type": "string", "maxLength": 200}},
	"required": ["name", "age", "tags", "address", "notes"]}`

const benchText = `{"name": "Ada Lovelace, countess", "age": 36, "tags": ["red", "blue"], "address": {"street": "St James's Square 12", "zip": "10115"}, "notes": "She wrote the first program, so they say."}`

// spelled are the tokens of a text, the longest first.
func spelled(v *Vocabulary, s string) []int32 {
	ids := map[string]int32{}
	for id, t := range v.text {
		ids[string(t)] = int32(id)
	}
	var out []int32
	for len(s) > 0 {
		n := min(len(s), 12)
		for ; n > 1; n-- {
			if _, ok := ids[s[:n]]; ok {
				break
			}
		}
		out = append(out, ids[s[:n]])
		s = s[n:]
	}
	return out
}

// BenchmarkToken is what a token costs: a mask for each and the step, through a whole text; warm, when others have read texts of the grammar
// before, and cold, when nobody has.
func BenchmarkToken(b *testing.B) {
	v := large()
	text := spelled(v, benchText)
	allowed := make([]bool, v.Size())
	read := func(b *testing.B, g *Grammar) {
		m := g.Start(v)
		for i, id := range text {
			if m.Allow(allowed); !allowed[id] {
				b.Fatalf("token %d, %q, is not allowed", i, v.text[id])
			}
			m.Accept(id)
		}
		if !m.Done() {
			b.Fatal("not done")
		}
	}
	perToken := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(text)), "µs/token")
	}
	b.Run("warm", func(b *testing.B) {
		g := compiled(b, CompileSchema, benchSchema)
		read(b, g)
		b.ReportAllocs()
		for b.Loop() {
			read(b, g)
		}
		perToken(b)
	})
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			g := compiled(b, CompileSchema, benchSchema)
			b.StartTimer()
			read(b, g)
		}
		perToken(b)
	})
}

// BenchmarkMask is the first mask of a place: within a string, and where any value may stand.
func BenchmarkMask(b *testing.B) {
	v := large()
	allowed := make([]bool, v.Size())
	for _, tt := range []struct{ name, src, before string }{
		{"string", `{"type": "string"}`, `"`},
		{"length", `{"type": "string", "maxLength": 100}`, `"`},
		{"value", `{}`, ""},
		{"text", `.*`, "a"},
	} {
		b.Run(tt.name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				compile := CompileSchema
				if tt.name == "text" {
					compile = CompileRegex
				}
				m := compiled(b, compile, tt.src).Start(v)
				for _, id := range spelled(v, tt.before) {
					m.Accept(id)
				}
				b.StartTimer()
				m.Allow(allowed)
			}
		})
	}
}

// BenchmarkOtherContext is the mask of a string in yet another place, when its node is known.
func BenchmarkOtherContext(b *testing.B) {
	v := large()
	g := compiled(b, CompileSchema, `{"type": "array", "items": {"anyOf": [{"type": "string"}, {"$ref": "#"}]}}`)
	allowed := make([]bool, v.Size())
	m := g.Start(v)
	m.Allow(allowed)
	open, quote := spelled(v, "[")[0], spelled(v, `"`)[0]
	for b.Loop() {
		b.StopTimer()
		m.Accept(open)
		deeper := *m
		deeper.Accept(quote)
		b.StartTimer()
		deeper.Allow(allowed)
	}
}

func BenchmarkNewVocabulary(b *testing.B) {
	v := large()
	for b.Loop() {
		NewVocabulary(v.size, func(id int32) []byte { return v.text[id] }, nil)
	}
}

func BenchmarkCompileSchema(b *testing.B) {
	for b.Loop() {
		compiled(b, CompileSchema, benchSchema)
	}
}
