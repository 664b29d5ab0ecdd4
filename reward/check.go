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
		f, err := look(ctx, r, p)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil && f.verdict != rl.Invalid && !f.raised {
			continue
		}
		if bad++; bad == 1 {
			first = fmt.Sprintf("prompt %s: %s", p.ID, f.why)
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d labels cannot be graded; the first: %s", bad, len(prompts), first)
	}
	return nil
}

// look asks r what it thinks of a label. One that is not ours grades an empty response.
func look(ctx context.Context, r rl.Rewarder, p *rl.Prompt) (finding, error) {
	if pool, ok := r.(*Pool); ok {
		r = pool.rewarder
	}
	if ours, ok := r.(graderOf); ok {
		return ours.label(ctx, p)
	}
	s := &rl.Sample{Prompt: p, Stop: rl.StopToken}
	err := r.Reward(ctx, s)
	return finding{verdict: s.Verdict, why: s.Why}, err
}
