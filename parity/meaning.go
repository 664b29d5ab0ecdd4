package parity

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
)

// A Prober is a side that can be asked what its logprobs mean.
type Prober interface {
	// Draw draws one token after a prompt, and returns it with the logprob that the side tells, and up to top of the likeliest tokens as the side
	// tells their logprobs, the likeliest first.
	Draw(ctx context.Context, prompt []int32, temperature, topP float64, top int) (Drawn, error)
}

// Drawn is a token that a side drew.
type Drawn struct {
	Token   int32
	LogProb float32
	Likely  []Likely
}

// Likely is a token with its logprob.
type Likely struct {
	Token   int32
	LogProb float32
}

// What is asked: a temperature and a cut at which every meaning gives another number.
const (
	probeTemperature = 0.5
	probeTopP        = 0.5
	probeTop         = 256 // likeliest tokens of the plain distribution; at temperature 0.5 what comes after them counts nothing
	probePrompts     = 8
	probeSteps       = 12   // tokens that are drawn after each of them
	mostSure         = 0.9  // probability of the likeliest token above which a place tells nothing
	meant            = 0.05 // nats by which a logprob may be off its meaning, which comes from another pass of the same engine
	settledAfter     = 2    // misses that rule a meaning out, so that one odd answer does not
)

// A meaning is what the logprob of a drawn token may be of.
type meaning struct {
	name string
	of   func(p probed) float64
}

// ours is the first: docs/adr/0005-meaning-of-logprobs.md.
var meanings = []meaning{
	{"of the whole distribution after temperature", func(p probed) float64 { return p.hot(p.token) }},
	{"of the distribution before temperature", func(p probed) float64 { return p.plain[p.token] }},
	{"renormalised after top-p", func(p probed) float64 { return p.hot(p.token) - p.nucleus(p.hot) }},
	{"of the distribution before temperature, renormalised after top-p", func(p probed) float64 {
		return p.plain[p.token] - p.nucleus(func(t int32) float64 { return p.plain[t] })
	}},
}

// probed is what a probe gave: the plain distribution, and a token that was drawn at another temperature.
type probed struct {
	token int32
	told  float64
	plain map[int32]float64 // logprobs at temperature 1
	norm  float64           // log of the sum over tokens of p^(1/T)
}

// hot returns the logprob of a token at the probe's temperature.
func (p probed) hot(t int32) float64 { return p.plain[t]/probeTemperature - p.norm }

// nucleus returns the log of the mass of the tokens that top-p leaves, the likeliest first, by the logprobs of lp.
func (p probed) nucleus(lp func(int32) float64) float64 {
	order := make([]int32, 0, len(p.plain))
	for t := range p.plain {
		order = append(order, t)
	}
	slices.SortFunc(order, func(x, y int32) int { return cmp.Or(cmp.Compare(p.plain[y], p.plain[x]), int(x)-int(y)) })
	cut, mass := 0.0, 0.0
	for _, t := range order {
		if cut >= probeTopP {
			break
		}
		cut += math.Exp(p.hot(t)) // top-p is applied after temperature
		mass += math.Exp(lp(t))
	}
	return math.Log(mass)
}

// fits reports whether what was told is of a meaning.
func (p probed) fits(m meaning) bool { return math.Abs(m.of(p)-p.told) <= meant }

// plainAt returns the distribution after a prompt at temperature 1, where all meanings are one, and a token drawn from it.
func plainAt(ctx context.Context, s Prober, prompt []int32) (p probed, next int32, err error) {
	d, err := s.Draw(ctx, prompt, 1, 1, probeTop)
	if err != nil {
		return p, 0, err
	}
	p.plain = map[int32]float64{}
	sum := 0.0
	for _, l := range d.Likely {
		p.plain[l.Token] = float64(l.LogProb)
		sum += math.Exp(float64(l.LogProb) / probeTemperature)
	}
	p.norm = math.Log(sum)
	return p, d.Token, nil
}

// open reports whether a distribution leaves the next token open: where one token takes nearly all every meaning gives about the same number.
func (p probed) open() bool {
	for _, lp := range p.plain {
		if lp > math.Log(mostSure) {
			return false
		}
	}
	return len(p.plain) > 1
}

// A tally counts how often what was told is not of each meaning.
type tally struct {
	probes int
	misses [4]int
	odd    string // the first thing told that is of none
}

func (t *tally) add(p probed) {
	t.probes++
	fitting := 0
	for i, m := range meanings {
		if p.fits(m) {
			fitting++
		} else {
			t.misses[i]++
		}
	}
	if fitting == 0 && t.odd == "" {
		t.odd = fmt.Sprintf("token %d has logprob %.4f, want %.4f", p.token, p.told, meanings[0].of(p))
	}
}

// settled reports whether all meanings but one have been missed often enough.
func (t *tally) settled() bool {
	left := 0
	for _, m := range t.misses {
		left += count(m < settledAfter)
	}
	return left <= 1
}

// verdict names the meaning with the fewest misses, ours where others have as few, and says whether it is ours.
func (t *tally) verdict() (words string, ok bool) {
	best := 0
	for i := range meanings {
		if t.misses[i] < t.misses[best] {
			best = i
		}
	}
	switch {
	case t.probes == 0:
		return "not told apart: the likeliest token takes nearly all wherever it was tried", true
	case 2*t.misses[best] > t.probes:
		return "none that is known: " + t.odd, false
	case best != 0:
		return meanings[best].name, false
	}
	var others []string
	for i, m := range meanings[1:] {
		if t.misses[i+1] == t.misses[0] {
			others = append(others, m.name)
		}
	}
	if len(others) > 0 {
		return meanings[0].name + "; not told apart here from: " + strings.Join(others, ", "), true
	}
	return meanings[0].name, true
}

// meaningOf finds out what a side's logprobs are of. It returns words for the list of checks, and whether they are ours.
func meaningOf(ctx context.Context, s Side, seqs []Sequence, room int) (words string, ok bool, err error) {
	prober, can := s.(Prober)
	if !can {
		return "", true, nil
	}
	var t tally
	for _, b := range beginnings(seqs, room) {
		if err := t.walk(ctx, prober, b); err != nil {
			return "", false, err
		}
		if t.settled() {
			break
		}
	}
	words, ok = t.verdict()
	return words, ok, nil
}

// walk follows what a side draws after a prompt, and probes it wherever the next token is open.
func (t *tally) walk(ctx context.Context, s Prober, b beginning) error {
	prompt := slices.Clone(b.tokens)
	for range b.steps {
		p, next, err := plainAt(ctx, s, prompt)
		if err != nil {
			return err
		}
		if p.open() {
			hot, err := s.Draw(ctx, prompt, probeTemperature, probeTopP, 0)
			if err != nil {
				return err
			}
			p.token, p.told = hot.Token, float64(hot.LogProb)
			if _, known := p.plain[p.token]; known { // of a token that is not among the likeliest nothing can be said
				t.add(p)
			}
		}
		if prompt = append(prompt, next); t.settled() {
			return nil
		}
	}
	return nil
}

// A beginning is tokens after which a side may draw some.
type beginning struct {
	tokens []int32
	steps  int
}

// beginnings returns beginnings of prompts, with room for as many tokens as the sequences have or are to get.
func beginnings(seqs []Sequence, room int) (out []beginning) {
	for _, s := range seqs[:min(len(seqs), probePrompts)] {
		n := len(s.Prompt)
		for _, m := range []int{n, n / 2, 1} {
			if steps := min(probeSteps, n-m+len(s.Response)+room); m > 0 && steps > 0 {
				out = append(out, beginning{s.Prompt[:m], steps})
			}
		}
	}
	return out
}

// meanings checks what both sides' logprobs are of.
func (c *checker) meanings(ctx context.Context, a, b Side, seqs []Sequence, room int) error {
	k := Check{Name: "meaning", OK: true}
	var err error
	var okA, okB bool
	if k.A, okA, err = meaningOf(ctx, a, seqs, room); err != nil {
		return fmt.Errorf("side A: what its logprobs mean: %w", err)
	}
	if k.B, okB, err = meaningOf(ctx, b, seqs, room); err != nil {
		return fmt.Errorf("side B: what its logprobs mean: %w", err)
	}
	if k.OK = okA && okB; !k.OK {
		name, is := "A", k.A
		if okA {
			name, is = "B", k.B
		}
		k.Says = fmt.Sprintf("at temperature %v and top-p %v %s tells logprobs %s, want them %s", probeTemperature, probeTopP, name, is, meanings[0].name)
	}
	c.add(k, "have the server tell logprobs after temperature and before truncation")
	return nil
}

// scoring has both sides score a token, so that one that cannot is found before any work is done.
func (c *checker) scoring(ctx context.Context, a, b Side, seqs []Sequence) {
	k := Check{Name: "scoring", OK: true}
	for _, side := range []struct {
		name string
		s    Side
		says *string
	}{{"A", a, &k.A}, {"B", b, &k.B}} {
		err := scores(ctx, side.s, seqs)
		if *side.says = "scores given tokens"; err != nil {
			*side.says = err.Error()
			k.OK, k.Says = false, cmp.Or(k.Says, fmt.Sprintf("%s cannot score given tokens: %v", side.name, err))
		}
	}
	c.add(k, "want an engine that tells logprobs of prompts")
}

// scores tries a side on one token.
func scores(ctx context.Context, s Side, seqs []Sequence) error {
	q, ok := trialOf(s, seqs)
	if !ok {
		return nil
	}
	got, err := s.Score(ctx, []Sequence{q}, func(int) {})
	if err != nil {
		return err
	}
	if len(got) != 1 {
		return fmt.Errorf("%d results for 1 sequence", len(got))
	}
	if err := got[0].fits(q); err != nil {
		return err
	}
	for i, lp := range got[0].LogProbs {
		if lp > 1e-4 { // what rounding may leave of the likeliest token
			return fmt.Errorf("token %d has logprob %v, want at most 0", i, lp)
		}
	}
	return nil
}

// A Recorded side has scores of its own sequences only.
type Recorded interface {
	Sequences() []Sequence
}

// trialOf returns a short sequence to try a side on.
func trialOf(s Side, seqs []Sequence) (Sequence, bool) {
	if len(seqs) == 0 {
		return Sequence{}, false
	}
	if _, is := s.(Recorded); is {
		return seqs[0], len(seqs[0].Response) > 0
	}
	t := seqs[0].Tokens()
	return Sequence{ID: "probe", Prompt: t[:1], Response: t[1:min(len(t), 3)]}, len(t) > 1
}
