package eval

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"furlong/rl"
)

// A Problem is what became of all samples of one problem.
type Problem struct {
	ID        string  `json:"id"`
	N         int     `json:"n"` // samples that were judged
	C         int     `json:"c"` // of them right
	Invalid   int     `json:"invalid,omitempty"`
	Truncated int     `json:"truncated,omitempty"` // of all, cut off by the token limit
	WholeN    int     `json:"whole_n,omitempty"`   // judged and not cut off
	WholeC    int     `json:"whole_c,omitempty"`   // of them right
	Tokens    int     `json:"tokens,omitempty"`    // of all responses together
	Reward    float64 `json:"reward,omitempty"`    // of the judged samples together

	Votes  []Vote `json:"votes,omitempty"`     // answers of judged samples, the most frequent first; none where answers are not known
	Silent int    `json:"no_answer,omitempty"` // judged samples without an answer
}

// passAt returns the problem's pass@k.
func (p Problem) passAt(k int) (float64, error) {
	v, err := PassAtK(p.N, p.C, k)
	if err != nil {
		return 0, fmt.Errorf("problem %s: %w", p.ID, err)
	}
	return v, nil
}

// add counts one sample.
func (p *Problem) add(s *rl.Sample) error {
	cut := s.Stop == rl.StopLength
	p.Tokens += len(s.Response)
	if cut {
		p.Truncated++
	}
	if s.Verdict == rl.Invalid {
		p.Invalid++
		return nil
	}
	right := 0
	switch s.Verdict {
	case rl.Right:
		right = 1
	case rl.Wrong:
	default:
		return fmt.Errorf("problem %s: sample %d is %v, want it graded", p.ID, s.Index, s.Verdict)
	}
	p.N, p.C = p.N+1, p.C+right
	if !cut {
		p.WholeN, p.WholeC = p.WholeN+1, p.WholeC+right
	}
	p.Reward += s.Reward
	p.vote(claimed(s.Text), right == 1)
	return nil
}

// Group counts graded samples by the ids of their prompts, and sorts the problems by id. Two prompts with one id and other
// texts or labels are an error.
func Group(samples []*rl.Sample) ([]Problem, error) {
	place, first := map[string]int{}, map[string]*rl.Prompt{}
	var problems []Problem
	for _, s := range samples {
		id := s.Prompt.ID
		if p, ok := first[id]; !ok {
			first[id], place[id] = s.Prompt, len(problems)
			problems = append(problems, Problem{ID: id})
		} else if p.Text != s.Prompt.Text || p.Label != s.Prompt.Label {
			return nil, fmt.Errorf("problem %s: its id stands for %.60q and for %.60q", id, p.Text+" "+p.Label, s.Prompt.Text+" "+s.Prompt.Label)
		}
		if err := problems[place[id]].add(s); err != nil {
			return nil, err
		}
	}
	for i := range problems {
		slices.SortFunc(problems[i].Votes, before)
	}
	return sorted(problems), nil
}

// sorted returns the problems in the order of their ids.
func sorted(problems []Problem) []Problem {
	s := slices.Clone(problems)
	slices.SortStableFunc(s, func(a, b Problem) int { return strings.Compare(a.ID, b.ID) })
	return s
}

// checked returns problems sorted. It refuses none at all and two of one id.
func checked(problems []Problem) ([]Problem, error) {
	s := sorted(problems)
	if len(s) == 0 {
		return nil, errors.New("no problems, want at least one")
	}
	for i := 1; i < len(s); i++ {
		if s[i].ID == s[i-1].ID {
			return nil, fmt.Errorf("problem %s: is there twice, want its samples counted together", s[i].ID)
		}
	}
	return s, nil
}
