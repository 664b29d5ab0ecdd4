package reward

import (
	"context"
	"fmt"

	"furlong/rl"
)

// Check reports labels that r cannot grade, before a run is started with them: how many, and the first. A grader looks at
// the label first, so that an empty response is enough to ask.
func Check(ctx context.Context, r rl.Rewarder, prompts []*rl.Prompt) error {
	bad, first := 0, ""
	for _, p := range prompts {
		s := &rl.Sample{Prompt: p, Stop: rl.StopToken}
		f, err := look(ctx, r, s)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil && s.Verdict != rl.Invalid && !f.raised {
			continue
		}
		if bad++; bad == 1 {
			first = fmt.Sprintf("prompt %s: %s", p.ID, s.Why)
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d labels cannot be graded; the first: %s", bad, len(prompts), first)
	}
	return nil
}

// look grades s and returns what the grader found besides, where r is one of ours.
func look(ctx context.Context, r rl.Rewarder, s *rl.Sample) (finding, error) {
	switch r := r.(type) {
	case *Pool:
		return r.judge(ctx, s)
	case dispatcher:
		return r.judge(s)
	}
	return finding{}, r.Reward(ctx, s)
}
