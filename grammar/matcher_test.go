package grammar

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
)

// tokens lists what may come next.
func tokens(m *Matcher) []int32 {
	allowed := make([]bool, m.r.v.Size())
	m.Allow(allowed)
	var ids []int32
	for id, ok := range allowed {
		if ok {
			ids = append(ids, int32(id))
		}
	}
	return ids
}

func vocabularyOf(ends []int32, texts ...string) *Vocabulary {
	return NewVocabulary(len(texts), func(id int32) []byte { return []byte(texts[id]) }, ends)
}

func compiled(t testing.TB, compile func(string) (*Grammar, error), src string) *Grammar {
	t.Helper()
	g, err := compile(src)
	if err != nil {
		t.Fatalf("%.100s: %v", src, err)
	}
	return g
}

func TestMatcher(t *testing.T) {
	v := vocabularyOf([]int32{0, 5}, "end", "", "a", "ab", "b", "", "\xc3", "\xa9", "é", "aé", "é")
	m := compiled(t, CompileRegex, "a?é|ab").Start(v)
	for _, step := range []struct {
		want   []int32
		accept int32
	}{{[]int32{2, 3, 6, 8, 9, 10}, 2}, {[]int32{4, 6, 8, 10}, 6}, {[]int32{7}, 7}} {
		if got := tokens(m); !slices.Equal(got, step.want) {
			t.Errorf("before %d: %v may come, want %v", step.accept, got, step.want)
		}
		if m.Done() {
			t.Errorf("before %d: done, want more", step.accept)
		}
		m.Accept(step.accept)
	}
	if got, want := tokens(m), []int32{0, 5}; !slices.Equal(got, want) || !m.Done() || m.Err() != nil {
		t.Errorf("at the end: %v may come, want %v; done is %v; error %v", got, want, m.Done(), m.Err())
	}
	m.Accept(5)
	m.Accept(4)
	if got, want := tokens(m), []int32{0, 5}; !slices.Equal(got, want) || !m.Done() || m.Err() != nil {
		t.Errorf("after the end: %v may come, want %v; done is %v; error %v", got, want, m.Done(), m.Err())
	}
}

func TestMatcherAllowsEndsWhereTextMayEnd(t *testing.T) {
	m := compiled(t, CompileRegex, "a*").Start(vocabularyOf([]int32{1, 7, -1}, "a", "a"))
	if got, want := tokens(m), []int32{0, 1}; !slices.Equal(got, want) || m.Done() {
		t.Errorf("%v may come, want %v; done is %v, want not", got, want, m.Done())
	}
}

func TestMatcherReportsTokensThatWereNotAllowed(t *testing.T) {
	for _, token := range []int32{1, 2, 3, -1, 99} {
		m := compiled(t, CompileRegex, "aa").Start(vocabularyOf([]int32{2}, "a", "b", "end", ""))
		m.Accept(token)
		if m.Err() == nil || !m.Done() {
			t.Errorf("token %d: error %v, done %v; want an error and done", token, m.Err(), m.Done())
		}
		if got, want := tokens(m), []int32{2}; !slices.Equal(got, want) {
			t.Errorf("token %d: then %v may come, want %v", token, got, want)
		}
	}
}

func TestMatcherReportsVocabularyWithoutNextToken(t *testing.T) {
	m := compiled(t, CompileRegex, "ab").Start(vocabularyOf(nil, "a"))
	m.Accept(0)
	if got := tokens(m); len(got) > 0 || m.Err() == nil || !m.Done() {
		t.Errorf("%v may come, error %v, done %v; want none, an error, done", got, m.Err(), m.Done())
	}
}

// TestAllowFillsMasksOfAnyLength: shorter ones get what fits, longer ones nothing past the vocabulary.
func TestAllowFillsMasksOfAnyLength(t *testing.T) {
	v := NewVocabulary(300, func(id int32) []byte { return []byte{byte(id)} }, nil)
	for _, src := range []string{"[a-c]", `(?s)[\x00-\x7f]`} {
		m := compiled(t, CompileRegex, src).Start(v)
		whole := make([]bool, 300)
		m.Allow(whole)
		for _, n := range []int{0, 1, 63, 64, 65, 97, 98, 127, 299, 301, 320, 384, 1000} {
			got := slices.Repeat([]bool{true}, n)
			m.Allow(got)
			for id := range got {
				if want := id < 300 && whole[id]; got[id] != want {
					t.Fatalf("%s: with room for %d: token %d is allowed: %v, want %v", src, n, id, got[id], want)
				}
			}
		}
	}
}

// TestMatchersSideBySide: masks are the same whoever asked before, at the same time, and after the reader forgot.
func TestMatchersSideBySide(t *testing.T) {
	g, v := compiled(t, CompileSchema, schemaTexts[0].src), pieces()
	want := walk(t, compiled(t, CompileSchema, schemaTexts[0].src), v, rand.New(rand.NewPCG(1, 1)), 40)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			m, allowed := g.Start(v), make([]bool, v.size)
			dice := rand.New(rand.NewPCG(uint64(i), 7))
			for range 200 {
				if m.Allow(allowed); m.Done() {
					return
				}
				var ids []int32
				for id, ok := range allowed {
					if ok && id != 1 && id != v.size-1 {
						ids = append(ids, int32(id))
					}
				}
				if len(ids) == 0 {
					t.Errorf("matcher %d: nothing may come", i)
					return
				}
				m.Accept(ids[dice.IntN(len(ids))])
			}
		})
	}
	all.Wait()
	r := g.reader(v)
	r.forget()
	if got := walk(t, g, v, rand.New(rand.NewPCG(1, 1)), 40); got != want {
		t.Errorf("drew %q after others and after forgetting, want %q", got, want)
	}
}

func TestReaderForgetsBeforeItTakesTooMuch(t *testing.T) {
	g, v := compiled(t, CompileRegex, `(?s).{0,1000}`), pieces()
	r := g.reader(v)
	m := g.Start(v)
	allowed := make([]bool, v.size)
	for i := range 900 {
		m.Allow(allowed)
		m.Accept(int32(3 + 'a'))
		if r.bytes = r.bytes + maxMemory/100; r.bytes > maxMemory+maxMemory/50 {
			t.Fatalf("after %d tokens the reader remembers %d bytes, want at most %d", i, r.bytes, maxMemory)
		}
	}
	if r.era == 0 || m.Err() != nil {
		t.Errorf("it forgot %d times, error %v; want some and none", r.era, m.Err())
	}
	if n := len(r.all); n > 10000 {
		t.Errorf("%d sets remember something, want few", n)
	}
}

// hostile are grammars that are small and make many or large sets of places.
var hostile = []struct{ name, src string }{
	{"doubling through rules", "root ::= [ab] root | \"a\" z\nz ::= " + strings.Repeat("[ab] ", 120)},
	{"all ways to bracket", `root ::= "a" root root | "a"`},
	{"ambiguous in depth", "root ::= a a a a\na ::= b | b a\nb ::= \"a\" | \"a\" b \"a\" | \"ab\" a | \"\""},
	{"many callers", "root ::= " + strings.Repeat(`("a" s "b" | "a" s "a" | `, 60) + `"a"` + strings.Repeat(")", 60) + "\ns ::= \"a\" s s | \"b\" s | \"a\""},
}

// TestHostileGrammarsAreBounded: however a text goes, what a token takes is limited, and tokens that are allowed can be read.
func TestHostileGrammarsAreBounded(t *testing.T) {
	v := pieces()
	for _, tt := range hostile {
		t.Run(tt.name, func(t *testing.T) {
			g := compiled(t, CompileEBNF, tt.src)
			m, dice := g.Start(v), rand.New(rand.NewPCG(2, 3))
			r := g.reader(v)
			for i := range 60 {
				ids := tokens(m)
				ids = slices.DeleteFunc(ids, func(id int32) bool { return len(v.text[id]) == 0 })
				if len(ids) == 0 {
					break
				}
				if r.effort > 2*maxEffort {
					t.Fatalf("mask %d took %d, want at most %d", i, r.effort, maxEffort)
				}
				if m.Accept(ids[dice.IntN(len(ids))]); m.Err() != nil {
					t.Fatalf("token %d: %v", i, m.Err())
				}
				if n := len(m.at.pairs); n > maxPairs {
					t.Fatalf("token %d: %d places, want at most %d", i, n, maxPairs)
				}
			}
		})
	}
}

// TestTooMuchWorkIsLeftOutAndCounted: each of 2^16 tokens leads to another set of many places.
func TestTooMuchWorkIsLeftOutAndCounted(t *testing.T) {
	texts := []string{"a", "b"}
	for i := range 1 << 16 {
		texts = append(texts, strings.NewReplacer("0", "a", "1", "b").Replace(fmt.Sprintf("%016b", i)))
	}
	v := vocabularyOf(nil, texts...)
	m := compiled(t, CompileEBNF, hostile[0].src).Start(v)
	for range 9 {
		m.Accept(2)
	}
	ids := tokens(m)
	if len(ids) < 2 || ids[0] != 0 || ids[1] != 1 {
		t.Errorf("%d tokens are allowed, want a and b and some more", len(ids))
	}
	if m.Narrowed() != 1 || len(ids) == len(texts) {
		t.Errorf("%d masks are narrowed and %d tokens are allowed, want 1 and fewer than all", m.Narrowed(), len(ids))
	}
	if m.r.effort > 2*maxEffort {
		t.Errorf("the mask took %d, want at most about %d", m.r.effort, maxEffort)
	}
	for _, id := range ids[:1000] {
		if m.r.read(m.at, id) == nil {
			t.Errorf("token %q is allowed and cannot be read", texts[id])
		}
	}
}

func ExampleMatcher() {
	texts := []string{"<end>", "{", "}", `"`, "name", `":`, " ", "1", "2", "x"}
	v := NewVocabulary(len(texts), func(id int32) []byte { return []byte(texts[id]) }, []int32{0})
	g, err := CompileSchema(`{"properties": {"name": {"type": "integer", "maximum": 12}}, "required": ["name"]}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	m, allowed := g.Start(v), make([]bool, v.Size())
	for _, token := range []int32{1, 3, 4, 5, 7, 8, 2} {
		m.Allow(allowed)
		for id, ok := range allowed {
			if ok {
				fmt.Printf("%q ", texts[id])
			}
		}
		fmt.Printf("-> %q\n", texts[token])
		m.Accept(token)
	}
	fmt.Println(m.Done())
	// Output:
	// "{" -> "{"
	// "\"" -> "\""
	// "name" -> "name"
	// "\"" "\":" -> "\":"
	// " " "1" "2" -> "1"
	// "}" "1" "2" -> "2"
	// "}" -> "}"
	// true
}

// TestMasksInLargeVocabulary holds masks against reading each of 130,000 tokens: there whole parts of the trie are marked at once.
func TestMasksInLargeVocabulary(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	v := large()
	for _, tt := range []struct {
		compile   func(string) (*Grammar, error)
		src, text string
	}{
		{CompileSchema, `{"type": "string"}`, `"ab`},
		{CompileSchema, `{"type": "string", "maxLength": 12}`, `"ab`},
		{CompileSchema, `{"type": "string", "minLength": 20, "pattern": "^[a-zA-Z ]+$"}`, `"a`},
		{CompileSchema, `{}`, `{"a": [1`},
		{CompileRegex, `.*`, "a"},
		{CompileRegex, `[a-zA-Z0-9 ]{9}[^x]*`, "ab"},
		{CompileRegex, `( ?\w+){3}!`, " ab"},
		{CompileTags, twoTags, "a<f"},
	} {
		m, allowed := compiled(t, tt.compile, tt.src).Start(v), make([]bool, v.Size())
		for _, id := range append(spelled(v, tt.text), -1) {
			m.Allow(allowed)
			compare(t, m, allowed, []byte(tt.src))
			if id >= 0 {
				m.Accept(id)
			}
		}
		if m.Err() != nil {
			t.Errorf("%s: %v", tt.src, m.Err())
		}
	}
}
