package parity

import (
	"cmp"
	"math"
	"slices"

	"furlong/tokenizer"
)

// A Comparing says what Compare compares, and how it tells of it.
type Comparing struct {
	Name, Says string
	Sampled    bool                // A drew the tokens
	Worst      int                 // tokens to tell of
	Tokenizer  tokenizer.Tokenizer // gives tokens their text and class; nil knows none
}

// Compare holds two sides' scores of the same sequences against each other. There is one of each for every sequence, of its length.
func Compare(c Comparing, seqs []Sequence, a, b []Scores) Comparison {
	out := Comparison{Name: c.Name, Says: c.Says, Sampled: c.Sampled}
	all := newSorter()
	position, probability, kind := newSorter(), newSorter(), newSorter()
	prompt := newSorter()
	for i, s := range seqs {
		for t, id := range s.Response {
			p := pair{a[i].LogProbs[t], b[i].LogProbs[t]}
			all.add("", 0, p)
			prompt.add(s.ID, i, p)
			name, at := positionBucket(t)
			position.add(name, at, p)
			name, at = probabilityBin(p.a)
			probability.add(name, at, p)
			name = class(c.Tokenizer, id)
			kind.add(name, slices.Index(classes, name), p)
		}
	}
	pairs := all.pairs[0]
	out.Gap = gapOf(pairs)
	out.K1, out.K3, out.Ratio = divergences(pairs)
	out.Correlation = correlation(pairs)
	out.ByPosition, out.ByProbability, out.ByClass, out.ByPrompt = position.buckets(), probability.buckets(), kind.buckets(), prompt.buckets()
	out.Top1 = top1(a, b)
	out.Experts = agreement(a, b, func(s Scores) []Choice { return s.Experts })
	out.Index = agreement(a, b, func(s Scores) []Choice { return s.Index })
	out.Worst = c.worst(seqs, a, b)
	return out
}

// A place is a token of a sequence with its pair.
type place struct {
	seq, pos int
	pair
}

// weight is by what tokens are ranked: those without a gap come before all others.
func (p place) weight() float64 {
	if !p.finite() {
		return math.Inf(1)
	}
	return math.Abs(p.gap())
}

// worst returns the tokens with the largest gaps, the first of equal ones first, none that is equal to the bit.
func (c Comparing) worst(seqs []Sequence, a, b []Scores) []WorstToken {
	var all []place
	for i, s := range seqs {
		for t := range s.Response {
			if p := (pair{a[i].LogProbs[t], b[i].LogProbs[t]}); !p.same() {
				all = append(all, place{i, t, p})
			}
		}
	}
	slices.SortStableFunc(all, func(x, y place) int { return cmp.Compare(y.weight(), x.weight()) })
	out := []WorstToken{}
	for _, p := range all[:min(len(all), max(0, c.Worst))] {
		out = append(out, c.token(seqs[p.seq], p))
	}
	return out
}

// contextTokens is how many tokens before and after a token are told with it.
const contextTokens = 24

// token tells of a token.
func (c Comparing) token(s Sequence, p place) WorstToken {
	at := len(s.Prompt) + p.pos
	tokens := s.Tokens()
	return WorstToken{
		Sequence: p.seq, Position: p.pos, Token: s.Response[p.pos], Class: class(c.Tokenizer, s.Response[p.pos]),
		Text:   text(c.Tokenizer, tokens[at:at+1]),
		Before: text(c.Tokenizer, tokens[max(0, at-contextTokens):at]),
		After:  text(c.Tokenizer, tokens[at+1:min(len(tokens), at+1+contextTokens)]),
		A:      Figure(p.a), B: Figure(p.b), Gap: Figure(p.gap()),
	}
}

// text returns the text of tokens, special ones spelled, "" where nobody knows.
func text(t tokenizer.Tokenizer, ids []int32) string {
	if t == nil {
		return ""
	}
	return tokenizer.Valid(tokenizer.DecodeSpecial(t, ids))
}
