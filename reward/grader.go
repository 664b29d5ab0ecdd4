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
		{"furlong", "the boxed answer or Answer: line equals the label as a mathematical object", furlong},
		{"math", `the last \boxed{} as DeepScaleR's grader judges it, wherever it stands`, publishedMath},
		{"deepscaler", "the same behind the last </think>", publishedDeepScaler},
		{"dapo", "the last Answer: line as DAPO's grader judges it; the label is a whole number", publishedDAPO},
		{"math-verify", "the answer as Math-Verify finds and judges it", publishedMathVerify},
		{"gsm8k", "as furlong, the label must be a number, #### introduces an answer too", gsm8k},
		{"countdown", "an expression of the given numbers, each exactly once, that has the target's value", countdown},
		{"exact", "the response is the label, spaces around it aside", exact},
		{"arithmetic", `the last \boxed{integer} is the label`, arithmetic},
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

// find returns the grader of a name.
func find(name string) (grader, error) {
	for _, g := range graders() {
		if g.name == name {
			return g, nil
		}
	}
	hint := ""
	if near := nearest.Name(name, Names()); near != "" {
		hint = fmt.Sprintf("; the nearest is %q", near)
	}
	return grader{}, fmt.Errorf("grader is %q, want one of %s%s", name, strings.Join(Names(), ", "), hint)
}

// New returns the rewarder of a name, with the usual rules. A prompt whose metadata has rm_type is judged by the grader of
// that name instead. An empty name judges only such prompts.
func New(name string) (rl.Rewarder, error) { return NewWith(Config{Type: name}) }

// NewWith returns the rewarder of c.Type with the rules of c.
func NewWith(c Config) (rl.Rewarder, error) {
	if c.Type == "" {
		return dispatcher{rules: c.Rules}, nil
	}
	g, err := find(c.Type)
	return dispatcher{g, c.Rules}, err
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

// look judges what is not too deep to be looked at.
func (g grader) look(r response, gold Gold, rules Rules) finding {
	if n := depth(r.text); n > deepest {
		return invalid("%d braces within each other, want at most %d", n, deepest)
	}
	return g.judge(r, gold, rules)
}

// A dispatcher is a rewarder that picks a grader for each sample.
type dispatcher struct {
	usual grader
	rules Rules
}

// Reward judges s.
func (d dispatcher) Reward(_ context.Context, s *rl.Sample) error {
	_, err := d.judge(s)
	return err
}

// judge judges s and returns the finding.
func (d dispatcher) judge(s *rl.Sample) (finding, error) {
	g, boxed, err := d.pick(s.Prompt)
	if err != nil {
		spoil(s, err.Error())
		return finding{}, fmt.Errorf("prompt %s: %w", s.Prompt.ID, err)
	}
	text := s.Text
	if boxed {
		text, _ = lastBox(text)
	}
	f := g.look(response{s.Prompt.Text, text, s.Stop == rl.StopLength}, goldOf(s.Prompt), d.rules)
	s.Verdict, s.Why, s.Reward = f.verdict, g.name+": "+f.why, 0
	if f.verdict == rl.Right {
		s.Reward = 1
	}
	return f, nil
}

// goldOf returns the gold answer of a prompt. The numbers of a countdown may stand in the metadata, with the target as the
// label.
func goldOf(p *rl.Prompt) Gold {
	g := GoldOf(p.Label)
	if g.Target != nil || !strings.Contains(string(p.Metadata), `"nums"`) {
		return g
	}
	var meta struct {
		Numbers json.RawMessage `json:"nums"`
	}
	if json.Unmarshal(p.Metadata, &meta) != nil || !json.Valid([]byte(p.Label)) {
		return g
	}
	if c, err := readCountdown(fmt.Appendf(nil, `{"nums":%s,"target":%s}`, meta.Numbers, p.Label)); err == nil {
		return c
	}
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
		g, err := find(name)
		return g, boxed, err
	case d.usual.judge == nil:
		return grader{}, false, errors.New("metadata names no rm_type, want one where --rm-type is not set")
	}
	return d.usual, false, nil
}

// spoil makes s invalid.
func spoil(s *rl.Sample, why string) { s.Verdict, s.Reward, s.Why = rl.Invalid, 0, why }
