package reward

import (
	"strings"
	"unicode"
)

// f1 pays for the words that response and label share: the harmonic mean of their shares of both, words counted as often as they occur on both
// sides. Letter case, punctuation and articles do not count. It is right where nothing is missing and nothing too much.
func f1(r response, g Gold, _ Rules) finding {
	for _, label := range g.texts() {
		switch {
		case len(label) > longestAnswer:
			return invalid("label is %d bytes long, want at most %d", len(label), longestAnswer)
		case len(words(label)) == 0:
			return invalid("label is %.60q, want words that are no articles", label)
		}
	}
	text, none := scope(r)
	if none != "" {
		return wrong("%s", none)
	}
	said := words(text)
	best := 0.0
	for _, label := range g.texts() {
		best = max(best, shared(said, words(label)))
	}
	f := wrong("F1 of words is %.3g", best)
	if best == 1 {
		f = right("the same words")
	}
	f.score, f.scored = best, true
	return f
}

// words returns the words of a text that count.
func words(text string) []string {
	text = strings.Map(func(c rune) rune {
		if strings.ContainsRune(asciiPunctuation, c) {
			return -1
		}
		return unicode.ToLower(c)
	}, text)
	var out []string
	for _, w := range strings.Fields(text) {
		if w != "a" && w != "an" && w != "the" {
			out = append(out, w)
		}
	}
	return out
}

const asciiPunctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

// shared returns the F1 of two lists of words.
func shared(a, b []string) float64 {
	count := map[string]int{}
	for _, w := range b {
		count[w]++
	}
	common := 0
	for _, w := range a {
		if count[w] > 0 {
			count[w]--
			common++
		}
	}
	if common == 0 {
		return 0
	}
	return float64(2*common) / float64(len(a)+len(b))
}
