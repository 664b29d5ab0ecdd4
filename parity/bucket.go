package parity

import (
	"fmt"
	"math"
	"unicode"
	"unicode/utf8"

	"furlong/tokenizer"
)

// firstBucket is the width of the first bucket of positions; later ones double.
const firstBucket = 64

// positionBucket names the bucket of a response position, and says which it is.
func positionBucket(i int) (string, int) {
	lo, hi, n := 0, firstBucket, 0
	for i >= hi {
		lo, hi, n = hi, 2*hi, n+1
	}
	return fmt.Sprintf("%d-%d", lo, hi-1), n
}

// probabilityBins are where bins of probabilities end, and their names.
var probabilityBins = []struct {
	below float64
	name  string
}{{0.01, "below 0.01"}, {0.1, "0.01-0.1"}, {0.5, "0.1-0.5"}, {0.9, "0.5-0.9"}, {math.Inf(1), "0.9-1"}}

// probabilityBin names the bin of a probability by its logprob. What is no number is in the first.
func probabilityBin(lp float32) (string, int) {
	p := math.Exp(float64(lp))
	for i, b := range probabilityBins {
		if p < b.below {
			return b.name, i
		}
	}
	return probabilityBins[0].name, 0
}

// classes are what tokens are by their text, in the order in which they are told.
var classes = []string{"letter", "digit", "space", "punctuation", "special", "other"}

// class names what a token is: of its text the first character that is no space decides.
func class(t tokenizer.Tokenizer, id int32) string {
	if t == nil {
		return "other"
	}
	if int(id) >= t.Size() || id < 0 {
		return "other"
	}
	if t.IsSpecial(id) {
		return "special"
	}
	text := t.AppendToken(nil, id)
	if len(text) == 0 {
		return "special"
	}
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if !unicode.IsSpace(r) {
			return runeClass(r, n)
		}
		text = text[n:]
	}
	return "space"
}

func runeClass(r rune, n int) string {
	switch {
	case r == utf8.RuneError && n <= 1:
		return "other"
	case unicode.IsDigit(r):
		return "digit"
	case unicode.IsLetter(r):
		return "letter"
	case unicode.IsPunct(r), unicode.IsSymbol(r):
		return "punctuation"
	}
	return "other"
}

// A sorter puts pairs into buckets that have a place.
type sorter struct {
	names map[int]string
	pairs map[int][]pair
	last  int
}

func newSorter() *sorter { return &sorter{map[int]string{}, map[int][]pair{}, -1} }

func (s *sorter) add(name string, place int, p pair) {
	s.names[place] = name
	s.pairs[place] = append(s.pairs[place], p)
	s.last = max(s.last, place)
}

// buckets returns those that have something, in order.
func (s *sorter) buckets() []Bucket {
	var out []Bucket
	for i := range s.last + 1 {
		if name, ok := s.names[i]; ok {
			out = append(out, Bucket{name, gapOf(s.pairs[i])})
		}
	}
	return out
}
