package gather

import (
	"context"
	"fmt"

	"furlong/rl"
)

// judge queues a group whose samples are all drawn. The lock is held.
func (g *Gatherer) judge(ctx context.Context, x *Group) {
	x.judging = true
	g.toJudge = append(g.toJudge, x)
	if !g.judges {
		g.judges = true
		g.wg.Go(func() { g.grade(ctx) })
	}
}

// grade grades all that is queued at once, until nothing is. So the grader's own bound on what runs at once is the run's.
func (g *Gatherer) grade(ctx context.Context) {
	for {
		list := g.queued()
		if len(list) == 0 {
			return
		}
		broken := g.gradeAll(ctx, list)
		if ctx.Err() != nil {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.judges = false
			g.changed()
			return
		}
		g.book(list, broken)
	}
}

// queued takes what is queued, or says that nobody grades any more.
func (g *Gatherer) queued() []*Group {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := g.toJudge
	g.toJudge = nil
	g.judges = len(list) > 0
	return list
}

// gradeAll grades groups together, and each by itself if that fails: it returns those at which the grader fails.
func (g *Gatherer) gradeAll(ctx context.Context, list []*Group) map[*Group]error {
	var all []*rl.Sample
	for _, x := range list {
		all = append(all, x.Samples...)
	}
	err := g.parts.Grade(ctx, all)
	if err == nil {
		return nil
	}
	if len(list) == 1 {
		return map[*Group]error{list[0]: err}
	}
	broken := map[*Group]error{}
	for _, x := range list {
		if err := g.parts.Grade(ctx, x.Samples); err != nil {
			broken[x] = err
		}
	}
	return broken
}

// book decides about groups that were graded.
func (g *Gatherer) book(list []*Group, broken map[*Group]error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, x := range list {
		if err := broken[x]; err != nil {
			g.unjudged(x, err)
			continue
		}
		g.stock.unjudged = 0
		x.t2 = g.parts.Clock()
		g.stock.graded(x)
	}
	g.changed()
}

// unjudged gives up a group that the grader failed at. As many in a row as a batch holds end the run. The lock is held.
func (g *Gatherer) unjudged(x *Group, err error) {
	g.parts.Advise(fmt.Sprintf("prompt %s is given up, for its grader failed: %v", x.Prompt.ID, err))
	g.stock.seen.exceptions++
	g.stock.drop(x, GraderError)
	if g.stock.unjudged++; g.stock.unjudged >= g.run.Batch {
		g.fail(fmt.Errorf("the grader failed at %d groups in a row: %w", g.stock.unjudged, err))
	}
}
