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

// A grader is one way of judging. judge looks at a response and a label and nothing else; it takes time proportional to
// their length and may be called from several goroutines at once.
type grader struct {
	name, help string
	judge      func(r response, label string) finding
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
}

// right, wrong and invalid make findings.
func right(format string, args ...any) finding {
	return finding{rl.Right, fmt.Sprintf(format, args...)}
}

func wrong(format string, args ...any) finding {
	return finding{rl.Wrong, fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) finding {
	return finding{rl.Invalid, fmt.Sprintf(format, args...)}
}

// graders are the values of --rm-type.
func graders() []grader {
	return []grader{
		{"arithmetic", `the last \boxed{integer} is the label`, arithmetic},
		{"math", "the boxed answer or Answer: line equals the label, a number or text", mathematics},
		{"dapo", "as math, the label must be a whole number", dapo},
		{"gsm8k", "as math, the label must be a number, #### introduces an answer too", gsm8k},
		{"exact", "the response is the label, spaces around it aside", exact},
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

// New returns the rewarder of a name. A prompt whose metadata has rm_type is judged by the grader of that name instead. An
// empty name judges only such prompts.
func New(name string) (rl.Rewarder, error) {
	if name == "" {
		return dispatcher{}, nil
	}
	g, err := find(name)
	return dispatcher{g}, err
}

// A dispatcher is a rewarder that picks a grader for each sample.
type dispatcher struct{ usual grader }

// Reward judges s.
func (d dispatcher) Reward(_ context.Context, s *rl.Sample) error {
	g, err := d.pick(s.Prompt)
	if err != nil {
		spoil(s, err.Error())
		return fmt.Errorf("prompt %s: %w", s.Prompt.ID, err)
	}
	f := g.judge(response{s.Prompt.Text, s.Text, s.Stop == rl.StopLength}, s.Prompt.Label)
	s.Verdict, s.Why, s.Reward = f.verdict, g.name+": "+f.why, 0
	if f.verdict == rl.Right {
		s.Reward = 1
	}
	return nil
}

// pick returns the grader that the prompt asks for, or else the usual one.
func (d dispatcher) pick(p *rl.Prompt) (grader, error) {
	var meta struct {
		Type string `json:"rm_type"`
	}
	if p.Metadata != nil {
		if err := json.Unmarshal(p.Metadata, &meta); err != nil {
			return grader{}, fmt.Errorf("metadata: %w", err)
		}
	}
	switch {
	case meta.Type != "":
		return find(meta.Type)
	case d.usual.judge == nil:
		return grader{}, errors.New("metadata names no rm_type, want one where --rm-type is not set")
	}
	return d.usual, nil
}

// spoil makes s invalid.
func spoil(s *rl.Sample, why string) { s.Verdict, s.Reward, s.Why = rl.Invalid, 0, why }
