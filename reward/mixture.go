package reward

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"furlong/rl"
)

// A part of --rm-type is a grader's name with its weight.
type part struct {
	name   string
	weight float64
}

// partsOf reads a grader's name, or several with weights: furlong:0.8,remote_rm:0.2.
func partsOf(text string) ([]part, error) {
	var all []part
	for _, item := range strings.Split(text, ",") {
		name, number, has := strings.Cut(strings.TrimSpace(item), ":")
		p := part{name, 1}
		if has {
			var err error
			if p.weight, err = strconv.ParseFloat(number, 64); err != nil || math.IsNaN(p.weight) || math.IsInf(p.weight, 0) {
				return nil, fmt.Errorf("weight of %s is %q, want a number", name, number)
			}
		}
		if name == "" && text != "" {
			return nil, fmt.Errorf("graders are %q, want names apart by commas", text)
		}
		all = append(all, p)
	}
	return all, nil
}

// A weighted judger counts for so much.
type weighted struct {
	judger
	weight float64
}

// A mixture is several judgers. The reward is the weighted sum of theirs, the verdict is that of the first; where one of
// them cannot judge the sample is invalid.
type mixture []weighted

func (m mixture) judge(ctx context.Context, s *rl.Sample) (finding, error) {
	var all finding
	sum := 0.0
	var whys []string
	for i, w := range m {
		own := *s
		f, err := w.judge(ctx, &own)
		all.raised, all.over = all.raised || f.raised, all.over || f.over
		if err != nil || own.Verdict == rl.Invalid || own.Verdict == rl.Ungraded {
			spoil(s, own.Why)
			return all, err
		}
		if i == 0 {
			all.verdict = own.Verdict
		}
		sum += w.weight * own.Reward
		whys = append(whys, fmt.Sprintf("%s (%g of %g)", own.Why, w.weight*own.Reward, w.weight))
	}
	s.Verdict, s.Reward, s.Why = all.verdict, sum, strings.Join(whys, "; ")
	return all, nil
}

func (m mixture) label(ctx context.Context, p *rl.Prompt) (finding, error) {
	for _, w := range m {
		if f, err := w.label(ctx, p); err != nil || f.verdict == rl.Invalid || f.raised {
			return f, err
		}
	}
	return finding{verdict: rl.Wrong}, nil
}

// A shaped judger changes what verdicts earn. It does not change verdicts.
type shaped struct {
	judger
	plusMinus bool    // wrong earns -1
	buffer    int     // tokens before the limit
	factor    float64 // what a response as long as the limit loses
}

func (h shaped) judge(ctx context.Context, s *rl.Sample) (finding, error) {
	f, err := h.judger.judge(ctx, s)
	if err != nil || s.Verdict != rl.Right && s.Verdict != rl.Wrong {
		return f, err
	}
	if h.plusMinus {
		s.Reward = 2*s.Reward - 1
	}
	if p := penalty(len(s.Response), s.Sampling.MaxTokens, h.buffer, h.factor); p < 0 {
		s.Reward += p
		s.Why += fmt.Sprintf("; %d tokens of at most %d cost %.3g", len(s.Response), s.Sampling.MaxTokens, -p)
	}
	return f, nil
}

// penalty is DAPO's soft punishment: nothing up to limit-buffer tokens, then linearly down to -factor at the limit.
func penalty(length, limit, buffer int, factor float64) float64 {
	if buffer <= 0 || limit <= 0 {
		return 0
	}
	over := float64(length - (limit - buffer))
	return min(-over/float64(buffer)*factor, 0)
}
