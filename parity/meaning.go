package parity

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
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
	apart            = 0.1 // nats by which our meaning must differ from the others for a probe to tell
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

// tells reports whether our meaning differs from all others here.
func (p probed) tells() bool {
	for _, m := range meanings[1:] {
		if !(math.Abs(m.of(p)-meanings[0].of(p)) > apart) {
			return false
		}
	}
	return true
}

// means returns the meaning that is nearest to what was told, -1 if none is near.
func (p probed) means() int {
	best, off := -1, apart/2
	for i, m := range meanings {
		if d := math.Abs(m.of(p) - p.told); d < off {
			best, off = i, d
		}
	}
	return best
}

// probe asks a side about one prompt. ok is false where the distribution is not fit to tell meanings apart.
func probe(ctx context.Context, s Prober, prompt []int32) (p probed, ok bool, err error) {
	plain, err := s.Draw(ctx, prompt, 1, 1, probeTop)
	if err != nil {
		return p, false, err
	}
	drawn, err := s.Draw(ctx, prompt, probeTemperature, probeTopP, 0)
	if err != nil {
		return p, false, err
	}
	p = probed{token: drawn.Token, told: float64(drawn.LogProb), plain: map[int32]float64{}}
	sum := 0.0
	for _, l := range plain.Likely {
		p.plain[l.Token] = float64(l.LogProb)
		sum += math.Exp(float64(l.LogProb) / probeTemperature)
	}
	p.norm = math.Log(sum)
	if _, known := p.plain[p.token]; !known {
		return p, false, nil
	}
	return p, p.tells(), nil
}

// meaning finds out what a side's logprobs are of. It returns words for the list of checks, and whether they are ours.
func meaningOf(ctx context.Context, s Side, seqs []Sequence) (words string, ok bool, err error) {
	prober, can := s.(Prober)
	if !can {
		return "", true, nil
	}
	for _, prompt := range probePromptsOf(seqs) {
		p, tells, err := probe(ctx, prober, prompt)
		if err != nil {
			return "", false, err
		}
		if !tells {
			continue
		}
		if i := p.means(); i >= 0 {
			return meanings[i].name, i == 0, nil
		}
		return fmt.Sprintf("none that is known: token %d has logprob %.4f, want %.4f", p.token, p.told, meanings[0].of(p)), false, nil
	}
	return "not told apart: after every prompt tried the likeliest token takes all", true, nil
}

// probePromptsOf returns beginnings of prompts, among which there should be one that leaves the next token open.
func probePromptsOf(seqs []Sequence) (out [][]int32) {
	for _, s := range seqs[:min(len(seqs), probePrompts)] {
		n := len(s.Prompt)
		out = append(out, s.Prompt)
		for _, m := range []int{n / 2, 1} {
			if m > 0 && m < n {
				out = append(out, s.Prompt[:m])
			}
		}
	}
	return out
}

// meanings checks what both sides' logprobs are of.
func (c *checker) meanings(ctx context.Context, a, b Side, seqs []Sequence) error {
	k := Check{Name: "meaning", OK: true}
	var err error
	var okA, okB bool
	if k.A, okA, err = meaningOf(ctx, a, seqs); err != nil {
		return fmt.Errorf("A: what its logprobs mean: %w", err)
	}
	if k.B, okB, err = meaningOf(ctx, b, seqs); err != nil {
		return fmt.Errorf("B: what its logprobs mean: %w", err)
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
