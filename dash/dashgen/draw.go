package dashgen

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"furlong/metrics/samples"
	"furlong/rl"
)

// A drawn cycle is its samples and what its row says of them.
type drawn struct {
	rows   []samples.Row
	batch  []samples.Sample // of a cycle whose tokens are written; nil otherwise
	gap    float64          // mean over tokens
	p99    float64
	max    float64
	reward float64
	cut    float64 // share truncated
	tokens int
	bad    int // invalid
	zero   int // groups without signal
}

// sets are the data sets.
var sets = []string{"gsm8k", held}

// groupID returns the id of the i-th group of a cycle.
func (m *maker) groupID(c, i int) uint32 { return uint32(c*m.o.Groups + i) }

// draw draws the samples of a cycle.
func (m *maker) draw(c int) *drawn {
	m.ar = 0.45*m.ar + 0.045*m.rng.NormFloat64()
	target := min(max(0.42+0.20*(1-math.Exp(-float64(c)/(0.4*float64(max(m.o.Cycles, 1)))))+m.ar, 0.02), 0.98)
	cut := 0.52 + 0.08*math.Exp(-float64(c)/(0.3*float64(max(m.o.Cycles, 1)))) + 0.017*m.rng.NormFloat64()
	if m.in(c, cutFrom, cutTo) {
		cut = 0.8
	}
	gap := 0.089 * math.Exp(0.045*m.rng.NormFloat64())
	if m.o.Exact {
		gap = 0
	}
	d := &drawn{}
	for g := range m.o.Groups {
		m.group(d, c, g, target, cut, gap)
	}
	if m.bodied(c) {
		m.bodies(d, c)
	}
	d.sum(m)
	return d
}

// group draws the samples of one prompt, whose skill their verdicts come from.
func (m *maker) group(d *drawn, c, g int, target, cut, gap float64) {
	skill := min(max(target+0.2*m.rng.NormFloat64(), 0), 1)
	first, sum, squares := len(d.rows), 0.0, 0.0
	prompt := uint32(8 + m.rng.IntN(12))
	for i := range m.o.N {
		r := samples.Row{Cycle: uint32(c), Group: m.groupID(c, g), Slot: uint16(i), PromptLen: prompt, Version: rl.NewVersion(m.attempt-1, c), Verdict: rl.Wrong}
		switch u := m.rng.Float64(); {
		case u < 0.004:
			r.Verdict = rl.Invalid
		case u < skill && !m.in(c, zeroFrom, zeroTo):
			r.Verdict, r.Reward = rl.Right, 1
		}
		if m.rng.Float64() < 0.06 && c > 1 {
			r.Version, r.Span, r.Flags = rl.NewVersion(m.attempt-1, c-1), 1, samples.Mixed
		}
		if m.rng.Float64() < cut {
			r.Flags |= samples.Truncated
		}
		r.ResponseLen = uint32(min(max(math.Exp(math.Log(float64(m.o.Tokens))-0.32+0.8*m.rng.NormFloat64()), 1), float64(16*m.o.Tokens)))
		r.GapMean = float32(gap * math.Exp(0.3*m.rng.NormFloat64()))
		r.GapMax = r.GapMean * float32(3+3*m.rng.ExpFloat64())
		r.GapPos = uint32(m.rng.IntN(int(r.ResponseLen)))
		r.Entropy = float32(m.entropy(c) * math.Exp(0.1*m.rng.NormFloat64()))
		sum += float64(r.Reward)
		squares += float64(r.Reward * r.Reward)
		d.rows = append(d.rows, r)
	}
	n := float64(m.o.N)
	mean, sd := sum/n, math.Sqrt(max(squares/n-sum/n*sum/n, 0))
	if sd == 0 {
		d.zero++
	}
	for i := first; i < len(d.rows); i++ {
		d.rows[i].Advantage = float32((float64(d.rows[i].Reward) - mean) / (sd + 1e-6))
	}
}

// entropy falls over the run, and collapses where that is planted.
func (m *maker) entropy(c int) float64 {
	e := 0.9 - 0.4*float64(c)/float64(max(m.o.Cycles, 1))
	if m.in(c, flatFrom, flatTo) {
		e *= 0.12
	}
	return e
}

// bodies draws the tokens behind the rows. What rows say of gaps and entropy then comes from them.
func (m *maker) bodies(d *drawn, c int) {
	prompts := map[uint32]*rl.Prompt{}
	for i := range d.rows {
		r := &d.rows[i]
		if m.plants(c) && c == longAt && i == 0 {
			r.ResponseLen = uint32(20 * m.o.Tokens)
			m.plant("long", map[string]any{"cycle": c, "group": r.Group, "slot": r.Slot, "tokens": r.ResponseLen})
		}
		p := prompts[r.Group]
		if p == nil {
			p = m.prompt(c, r)
			prompts[r.Group] = p
		}
		d.batch = append(d.batch, samples.Sample{Sample: m.sample(c, r, p)})
	}
	if m.plants(c) && c == jumpAt && !m.o.Exact {
		m.jump(d, c)
	}
}

func (m *maker) prompt(c int, r *samples.Row) *rl.Prompt {
	p := &rl.Prompt{ID: fmt.Sprintf("problem-%d", r.Group), Group: int64(r.Group), Label: fmt.Sprint(r.Group % 97), Set: sets[0]}
	for range r.PromptLen {
		p.Tokens = append(p.Tokens, int32(m.rng.IntN(wordCount)))
	}
	p.Text = spell(p.Tokens)
	if m.plants(c) && c == hostileAt {
		bad := hostile[int(r.Group)%len(hostile)]
		p.ID, p.Label, p.Text = bad+p.ID, bad, bad+p.Text
	}
	return p
}

// rare is the least likely of tokens: their gaps are larger.
const rare = -0.6

func (m *maker) sample(c int, r *samples.Row, p *rl.Prompt) *rl.Sample {
	s := &rl.Sample{Request: int64(r.Group)*int64(m.o.N) + int64(r.Slot), Prompt: p, Index: int(r.Slot), Sampling: rl.DefaultSampling(), Verdict: r.Verdict, Reward: float64(r.Reward), Advantage: float64(r.Advantage), Why: "compared with the label"}
	s.Sampling.MaxTokens, s.Sampling.Seed = 16*m.o.Tokens, m.o.Seed+uint64(s.Request)
	n := int(r.ResponseLen)
	for i := range n {
		s.Response = append(s.Response, m.token(c, i, n))
		lp := -0.25 * m.rng.ExpFloat64()
		d := m.rng.ExpFloat64() * float64(r.GapMean)
		if lp < rare {
			d *= 3
		}
		if m.rng.IntN(2) == 0 {
			d = -d
		}
		s.LogProbs = append(s.LogProbs, float32(lp))
		s.TrainLogProbs = append(s.TrainLogProbs, float32(lp+d))
		s.Entropy = append(s.Entropy, float32(float64(r.Entropy)*m.rng.ExpFloat64()))
	}
	s.Versions = versions(r, n)
	s.Text = spell(s.Response)
	s.Stop = rl.StopToken
	if r.Flags&samples.Truncated != 0 {
		s.Stop = rl.StopLength
	}
	return s
}

// versions cuts the response of a mixed sample in two.
func versions(r *samples.Row, n int) []rl.Span {
	if r.Span == 0 || n < 2 {
		return []rl.Span{{Version: r.Version, Tokens: n}}
	}
	return []rl.Span{{Version: r.Version, Tokens: n / 2}, {Version: r.Version + 1, Tokens: n - n/2}}
}

// jump makes three samples of one group long, each with tokens that the trainer finds far less likely.
func (m *maker) jump(d *drawn, c int) {
	group := m.groupID(c, min(9, m.o.Groups-1))
	var told []map[string]any
	for i := range d.batch {
		s, r := d.batch[i].Sample, &d.rows[i]
		if r.Group != group || len(told) == 3 {
			continue
		}
		for n := len(s.Response); n < jumpToken+60; n++ {
			s.Response = append(s.Response, m.token(c, n, 0))
			lp := float32(-0.25 * m.rng.ExpFloat64())
			s.LogProbs, s.TrainLogProbs, s.Entropy = append(s.LogProbs, lp), append(s.TrainLogProbs, lp+0.02), append(s.Entropy, r.Entropy)
		}
		n := len(s.Response)
		r.ResponseLen = uint32(n)
		s.Versions, s.Text = versions(r, n), spell(s.Response)
		for at := jumpToken - 40; at < jumpToken+40; at++ {
			s.TrainLogProbs[at] = s.LogProbs[at] - float32(4+2*m.rng.Float64())
		}
		at := jumpToken
		s.LogProbs[at], s.TrainLogProbs[at] = -0.218, -11.427-float32(len(told))*-0.5
		routes(s, at-40, at+40)
		told = append(told, map[string]any{"slot": r.Slot, "pos": at, "rollout": s.LogProbs[at], "train": s.TrainLogProbs[at], "layer": swayed})
	}
	m.plant("jump", map[string]any{"cycle": c, "group": group, "samples": told})
}

// The words of answers, and what stands behind them.
const (
	wordCount = 400
	digitAt   = wordCount
	spaceAt   = digitAt + 10
	cjkAt     = spaceAt + 3
	emojiAt   = cjkAt + 20 // in pairs: the two halves of a character
	brokenAt  = emojiAt + 8
	hostileID = brokenAt + 4
	marksID   = hostileID + 16
)

// words are made of syllables, the same in every run.
var words = func() []string {
	r := rand.New(rand.NewPCG(1, 2))
	parts := strings.Fields("tri an gle sum of the pro duct is for more ra di us there by ten six sev en al pha be ta mid point so let us see")
	out := make([]string, wordCount)
	for i := range out {
		for range 1 + r.IntN(3) {
			out[i] += parts[r.IntN(len(parts))]
		}
	}
	return out
}()

// token draws the i-th token of a response.
func (m *maker) token(c, i, n int) int32 {
	if m.plants(c) && c == hostileAt && i < len(hostile)+1 {
		return int32(hostileID + i)
	}
	switch u := m.rng.IntN(100); {
	case u < 85:
		return int32(m.rng.IntN(wordCount))
	case u < 93:
		return int32(digitAt + m.rng.IntN(10))
	case u < 96:
		return int32(spaceAt + m.rng.IntN(3))
	case u < 98:
		return int32(cjkAt + m.rng.IntN(20))
	case u < 99:
		return int32(emojiAt + m.rng.IntN(8))
	}
	return int32(brokenAt + m.rng.IntN(4))
}

var emojis = [...]string{"\U0001f600", "\U0001f680", "\U0001f4a1", "\U0001f41f"}

// text is what a token stands for.
func text(id int32) []byte {
	switch i := int(id); {
	case i < wordCount:
		return []byte(" " + words[i])
	case i < spaceAt:
		return []byte{byte('0' + i - digitAt)}
	case i < cjkAt:
		return []byte([]string{"\n", "  ", "\t"}[i-spaceAt])
	case i < emojiAt:
		return []byte(string(rune(0x4e00 + 7*(i-cjkAt))))
	case i < brokenAt:
		e := emojis[(i-emojiAt)/2]
		return []byte(e[2*((i-emojiAt)%2):][:2])
	case i < hostileID:
		return []byte{0xe2, 0x80}[:1+(i-brokenAt)%2]
	case i < hostileID+len(hostile):
		return []byte(hostile[i-hostileID])
	}
	return []byte("a" + strings.Repeat("\u0301", 10_000))
}

func spell(ids []int32) string {
	var b strings.Builder
	for _, id := range ids {
		b.Write(text(id))
	}
	return b.String()
}
