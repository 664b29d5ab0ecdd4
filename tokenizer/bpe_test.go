package tokenizer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"
)

var _ Tokenizer = (*BPE)(nil)

func TestBPESpecialTokens(t *testing.T) {
	tok := open(t, "testdata/tiny")
	user, err := tok.ID("<｜User｜>")
	if err != nil {
		t.Fatal(err)
	}
	text := "<｜begin▁of▁sentence｜><｜User｜>the answer<｜end▁of▁sentence｜>"
	ids := tok.EncodeSpecial(text)
	if ids[0] != tok.BOS() || ids[1] != user || ids[len(ids)-1] != tok.EOS() {
		t.Errorf("EncodeSpecial = %v, want special tokens at both ends", ids)
	}
	if got, want := tok.Decode(ids), "<｜User｜>the answer"; got != want {
		t.Errorf("Decode = %q, want %q: the mark of the user is an added token and no special one", got, want)
	}
	if got := DecodeSpecial(tok, ids); got != text {
		t.Errorf("DecodeSpecial = %q, want %q", got, text)
	}
	plain := tok.Encode(text)
	for _, id := range plain {
		if tok.IsSpecial(id) || id == user {
			t.Errorf("Encode = %v holds token %d that the text only spells", plain, id)
		}
	}
	if got := tok.Decode(plain); got != text {
		t.Errorf("Decode(Encode) = %q, want %q", got, text)
	}
}

func TestBPEUnknownIDs(t *testing.T) {
	tok := open(t, "testdata/tiny")
	size := int32(tok.Size())
	ids := []int32{-1, size, size + 100, tok.letters['a']}
	if got, want := tok.Decode(ids), "\uFFFD\uFFFD\uFFFDa"; got != want {
		t.Errorf("Decode(%v) = %q, want %q", ids, got, want)
	}
	if tok.IsSpecial(-1) || tok.IsSpecial(size) {
		t.Error("ids outside of the vocabulary are special")
	}
	if id, err := tok.ID("two words"); err == nil {
		t.Errorf("ID of two words is %d, want an error", id)
	}
}

// TestLongMatchesShort merges words both ways; any word up to the limit of the short way will do.
func TestLongMatchesShort(t *testing.T) {
	tok := open(t, "testdata/tiny")
	dice := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		word := make([]byte, 1+dice.IntN(shortWord))
		for i := range word {
			word[i] = "answer thingqu\xe6\xe5\x9a"[dice.IntN(6+dice.IntN(12))]
		}
		short, long := tok.mergeShort(nil, string(word)), tok.mergeLong(nil, string(word))
		if !slices.Equal(short, long) {
			t.Fatalf("%q: %v by looking at all pairs, %v by lines", word, short, long)
		}
	}
}

// TestMergeOrder draws orders of merges that no training would give, in which a merge makes way for one of lower rank.
// Both ways of merging must do what the rule says: least rank first, leftmost of equals.
func TestMergeOrder(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing here runs beside anything else, and it takes long under the race detector")
	}
	dice := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		tok := randomMerges(dice)
		for range 50 {
			word := make([]byte, 1+dice.IntN(shortWord))
			for i := range word {
				word[i] = "ab"[dice.IntN(2)]
			}
			want := byRule(tok, string(word))
			if short := tok.mergeShort(nil, string(word)); !slices.Equal(short, want) {
				t.Fatalf("%q: %v by looking at all pairs, want %v", word, short, want)
			}
			if long := tok.mergeLong(nil, string(word)); !slices.Equal(long, want) {
				t.Fatalf("%q: %v by lines, want %v", word, long, want)
			}
		}
	}
}

// randomMerges returns a tokenizer of words of a and b up to five letters, most pairs of which merge, in any order.
func randomMerges(dice *rand.Rand) *BPE {
	var names []string
	ids := map[string]int32{}
	for size := 1; size <= 5; size++ {
		for bits := range 1 << size {
			name := make([]byte, size)
			for i := range name {
				name[i] = "ab"[bits>>i&1]
			}
			ids[string(name)] = int32(len(names))
			names = append(names, string(name))
		}
	}
	t := &BPE{merges: newMergeTable(len(names) * len(names))}
	t.letters['a'], t.letters['b'] = ids["a"], ids["b"]
	rank := uint32(0)
	for _, i := range dice.Perm(len(names) * len(names)) {
		a, b := names[i/len(names)], names[i%len(names)]
		if id, ok := ids[a+b]; ok && dice.IntN(4) > 0 {
			t.merges.add(ids[a], ids[b], merge{rank, id})
			rank++
		}
	}
	t.merges.index(&t.letters)
	return t
}

// byRule merges as the rule is written down.
func byRule(t *BPE, word string) (ids []int32) {
	for i := range len(word) {
		ids = append(ids, t.letters[word[i]])
	}
	for {
		best, at := merge{rank: noRank}, 0
		for i := range len(ids) - 1 {
			if m := t.merges.find(ids[i], ids[i+1]); m.rank < best.rank {
				best, at = m, i
			}
		}
		if best.rank == noRank {
			return ids
		}
		ids = append(append(ids[:at:at], best.id), ids[at+2:]...)
	}
}

// TestHostileWords encodes words of a megabyte. In quadratic time each would take many minutes.
func TestHostileWords(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing here runs beside anything else, and it takes long under the race detector")
	}
	tok := open(t, "testdata/tiny")
	for _, unit := range []string{"a", " ", "e", "\n", "!", "中", "\x01", " \n", "answer", "<｜User", "\xff", "<｜image｜>"} {
		text := strings.Repeat(unit, 1<<20/len(unit))
		start := time.Now()
		ids := tok.EncodeSpecial(text)
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%q, a megabyte of it, took %v", unit, took)
		}
		if got := DecodeSpecial(tok, ids); got != Valid(text) {
			t.Errorf("a megabyte of %q is not what it decodes to", unit)
		}
	}
}

func TestBPEConcurrently(t *testing.T) {
	tok := open(t, "testdata/tiny")
	texts := varied(200, spellingsOf(tok))
	want := make([][]int32, len(texts))
	for i, text := range texts {
		want[i] = tok.EncodeSpecial(text)
	}
	tok.cache = newWordCache()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i, text := range texts {
				if got := tok.EncodeSpecial(text); !slices.Equal(got, want[i]) {
					t.Errorf("EncodeSpecial(%.100q) = %v, want %v", text, got, want[i])
				}
			}
		})
	}
	wg.Wait()
}

func FuzzBPERoundTrip(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Add("<｜User｜>hi<｜Assistant｜><think>")
	tok := open(f, "testdata/tiny")
	f.Fuzz(func(t *testing.T, text string) {
		ids, valid := tok.Encode(text), Valid(text)
		if got := tok.Decode(ids); got != valid {
			t.Fatalf("Decode(Encode(%q)) = %q", text, got)
		}
		checkStream(t, tok, ids, valid)
		special := tok.EncodeSpecial(text)
		if got := DecodeSpecial(tok, special); got != valid {
			t.Fatalf("DecodeSpecial(EncodeSpecial(%q)) = %q", text, got)
		}
		var all strings.Builder
		s := NewSpecialStream(tok)
		for _, id := range special {
			part := s.Next(id)
			if !utf8.ValidString(part) {
				t.Fatalf("part %q of %q splits a character", part, valid)
			}
			all.WriteString(part)
		}
		if got := all.String() + s.Flush(); got != valid {
			t.Fatalf("stream of %q gave %q", valid, got)
		}
	})
}

func ExampleOpen() {
	tok, err := Open("testdata/tiny")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(tok.Encode("We think before we answer.")), "tokens")
	fmt.Println(tok.EncodeSpecial("<think>")[0] == tok.Encode("<think>")[0])
	// Output:
	// 10 tokens
	// false
}
