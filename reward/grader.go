package reward

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"furlong/nearest"
	"furlong/rl"
)

// A grader is one way of judging. judge looks at a response and a gold answer and nothing else; what it may cost is bounded
// in steps, and it may be called from several goroutines at once.
type grader struct {
	name, help string
	judge      func(r response, g Gold, rules Rules) finding
	outside    rl.Rewarder // judges instead of judge
}

// Rules are the settings of the graders that compare mathematical objects.
type Rules struct {
	Unevaluated bool    `flag:"grade-allow-unevaluated" help:"an answer that must be worked out may equal a label that is a number: 17*2 for 34"`
	Tolerance   float64 `flag:"grade-rel-tol" help:"largest relative difference of two numbers that counts as none"`
}

// Validate reports what is wrong with r, in the words of the flags.
func (r Rules) Validate() error {
	if r.Tolerance < 0 || r.Tolerance > 0.1 || r.Tolerance != r.Tolerance {
		return fmt.Errorf("--grade-rel-tol is %v, want 0 to 0.1", r.Tolerance)
	}
	return nil
}

// A response is what a grader may know of a sample.
type response struct {
	prompt, text string
	truncated    bool // by the token limit
}

// A finding is a verdict and what it rests on.
type finding struct {
	verdict rl.Verdict
	why     string
	raised  bool // a published grader breaks here
	over    bool // a comparison was too large to be worked out

	scored bool    // the reward is score, and not what the verdict earns
	score  float64 // 0 to 1
}

// right, wrong and invalid make findings.
func right(format string, args ...any) finding {
	return finding{verdict: rl.Right, why: fmt.Sprintf(format, args...)}
}

func wrong(format string, args ...any) finding {
	return finding{verdict: rl.Wrong, why: fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) finding {
	return finding{verdict: rl.Invalid, why: fmt.Sprintf(format, args...)}
}

// graders are the values of --rm-type.
func graders() []grader {
	return []grader{
		{name: "furlong", help: "the boxed answer or Answer: line equals the label as a mathematical object", judge: furlong},
		{name: "math", help: `the last \boxed{} as DeepScaleR's grader judges it, wherever it stands`, judge: publishedMath},
		{name: "deepscaler", help: "the same behind the last </think>", judge: publishedDeepScaler},
		{name: "dapo", help: "the last Answer: line as DAPO's grader judges it; the label is a whole number", judge: publishedDAPO},
		{name: "math-verify", help: "the answer as Math-Verify finds and judges it", judge: publishedMathVerify},
		{name: "gsm8k", help: "as furlong, the label must be a number, #### introduces an answer too", judge: gsm8k},
		{name: "countdown", help: "an expression of the given numbers, each exactly once, that has the target's value", judge: countdown},
		{name: "gpqa", help: "the letter that the response chooses is the label; the metadata's valid_letters may be chosen, or A to D", judge: gpqa},
		{name: "f1", help: "pays the F1 of the words of response and label, case, punctuation and articles aside; right where it is 1", judge: f1},
		{name: "exact", help: "the response is the label, spaces around it aside", judge: exact},
		{name: "arithmetic", help: `the last \boxed{integer} is the label`, judge: arithmetic},
	}
}

// Names returns the names that [New] knows.
func Names() []string {
	var names []string
	for _, g := range graders() {
		names = append(names, g.name)
	}
	return names
}

// unbuilt are graders of other systems that are not here, and why.
var unbuilt = map[string]string{
	"ifbench": "its checks of instructions are a Python package with its own data; --rm-type command with a program that calls it judges by them",
}

// find returns the grader of a name.
func find(name string) (grader, error) {
	for _, g := range graders() {
		if g.name == name {
			return g, nil
		}
	}
	if why := unbuilt[name]; why != "" {
		return grader{}, fmt.Errorf("grader %q is not built in: %s", name, why)
	}
	hint := ""
	if near := nearest.Name(name, Names()); near != "" {
		hint = fmt.Sprintf("; the nearest is %q", near)
	}
	return grader{}, fmt.Errorf("grader is %q, want one of %s%s", name, strings.Join(Names(), ", "), hint)
}

// New returns the rewarder of a name, with the usual rules. A prompt whose metadata has rm_type is judged by the grader of
// that name instead. An empty name judges only such prompts.
func New(name string) (rl.Rewarder, error) {
	c := Default()
	c.Type = name
	return NewWith(c, nil)
}

// NewWith returns the rewarder that c asks for: one grader, or several with weights, in the scale of c, with the penalty for
// long responses. outside holds rewarders by name that are judged somewhere else.
func NewWith(c Config, outside map[string]rl.Rewarder) (rl.Rewarder, error) {
	parts, err := partsOf(c.Type)
	if err != nil {
		return nil, err
	}
	var all mixture
	for _, p := range parts {
		d := dispatcher{rules: c.Rules, outside: outside}
		if p.name != "" {
			name, boxed := strings.CutPrefix(p.name, boxedPrefix)
			d.boxed = boxed
			if d.usual, err = d.find(name); err != nil {
				return nil, err
			}
		}
		all = append(all, weighted{d, p.weight})
	}
	var r judger = all
	if len(all) == 1 && all[0].weight == 1 {
		r = all[0].judger
	}
	if c.Scale == PlusMinus || c.Buffer > 0 {
		r = shaped{r, c.Scale == PlusMinus, c.Buffer, c.Factor}
	}
	return graderOf{r}, nil
}

// Judge gives the verdict of a mode on a finished response, and what it rests on.
func Judge(mode string, rules Rules, text string, g Gold) (rl.Verdict, string, error) {
	m, err := find(mode)
	if err != nil {
		return rl.Invalid, "", err
	}
	f := m.look(response{text: text}, g, rules)
	return f.verdict, f.why, nil
}

// look judges what is neither too long nor too deep to be looked at.
func (g grader) look(r response, gold Gold, rules Rules) finding {
	if len(r.text) > longestResponse {
		return invalid("response is %d bytes long, want at most %d", len(r.text), longestResponse)
	}
	if n := gold.size(); n > longestLabel {
		return invalid("label is %d bytes long, want at most %d", n, longestLabel)
	}
	if n := depth(r.text); n > deepest {
		return invalid("%d braces within each other, want at most %d", n, deepest)
	}
	return g.judge(r, gold, rules)
}

// A judger is a rewarder that tells what it found besides. label asks it whether it can grade a prompt's label.
type judger interface {
	judge(ctx context.Context, s *rl.Sample) (finding, error)
	label(ctx context.Context, p *rl.Prompt) (finding, error)
}

// graderOf makes a judger an [rl.Rewarder].
type graderOf struct{ judger }

// Reward judges s.
func (r graderOf) Reward(ctx context.Context, s *rl.Sample) error {
	_, err := r.judge(ctx, s)
	return err
}

// A dispatcher picks a grader for each sample.
type dispatcher struct {
	usual   grader
	boxed   bool // the usual one judges the last box alone
	rules   Rules
	outside map[string]rl.Rewarder
}

// find returns the grader of a name, of ours or outside.
func (d dispatcher) find(name string) (grader, error) {
	if r := d.outside[name]; r != nil {
		return grader{name: name, outside: r}, nil
	}
	return find(name)
}

// label grades an empty response, which is enough: a grader looks at the label first. Who judges outside is not asked.
func (d dispatcher) label(ctx context.Context, p *rl.Prompt) (finding, error) {
	if g, _, err := d.pick(p); err == nil && g.outside != nil {
		return finding{verdict: rl.Wrong}, nil
	}
	s := &rl.Sample{Prompt: p, Stop: rl.StopToken}
	f, err := d.judge(ctx, s)
	f.verdict, f.why = s.Verdict, s.Why
	return f, err
}

// judge judges s and returns the finding.
func (d dispatcher) judge(ctx context.Context, s *rl.Sample) (finding, error) {
	g, boxed, err := d.pick(s.Prompt)
	if err != nil {
		spoil(s, err.Error())
		return finding{}, fmt.Errorf("prompt %s: %w", s.Prompt.ID, err)
	}
	text := s.Text
	if boxed {
		text, _ = lastBox(text)
	}
	if g.outside != nil {
		inner := *s
		inner.Text = text
		err := g.outside.Reward(ctx, &inner)
		s.Verdict, s.Why, s.Reward = inner.Verdict, g.name+": "+inner.Why, inner.Reward
		return finding{verdict: s.Verdict}, err
	}
	f := g.look(response{s.Prompt.Text, text, s.Stop == rl.StopLength}, goldOf(s.Prompt), d.rules)
	s.Verdict, s.Why, s.Reward = f.verdict, g.name+": "+f.why, 0
	if f.verdict == rl.Right {
		s.Reward = 1
	}
	if f.scored {
		s.Reward = f.score
	}
	return f, nil
}

// goldOf returns the gold answer of a prompt. The numbers of a countdown may stand in the metadata, with the target as the
// label.
func goldOf(p *rl.Prompt) Gold {
	g := GoldOf(p.Label)
	if g.Target == nil && json.Valid([]byte(p.Label)) {
		if both := WithNumbers(json.RawMessage(p.Label), NumbersOf(p.Metadata)); both[0] == '{' {
			g = GoldOf(string(both))
		}
	}
	g.Letters = lettersOf(p)
	return g
}

// boxedPrefix before a grader's name has it judge what stands in the last box.
const boxedPrefix = "boxed_"

// pick returns the grader that the prompt asks for, or else the usual one, and whether it judges the last box alone.
func (d dispatcher) pick(p *rl.Prompt) (g grader, boxed bool, err error) {
	var meta struct {
		Type string `json:"rm_type"`
	}
	if p.Metadata != nil {
		if err := json.Unmarshal(p.Metadata, &meta); err != nil {
			return grader{}, false, fmt.Errorf("metadata: %w", err)
		}
	}
	switch {
	case meta.Type != "":
		name, boxed := strings.CutPrefix(meta.Type, boxedPrefix)
		g, err := d.find(name)
		return g, boxed, err
	case d.usual.name == "":
		return grader{}, false, errors.New("metadata names no rm_type, want one where --rm-type is not set")
	}
	return d.usual, d.boxed, nil
}

// spoil makes s invalid.
func spoil(s *rl.Sample, why string) { s.Verdict, s.Reward, s.Why = rl.Invalid, 0, why }
