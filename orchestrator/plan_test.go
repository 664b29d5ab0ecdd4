package orchestrator

import (
	"flag"
	"strings"
	"testing"

	"furlong/internal/script"
)

var update = flag.Bool("update", false, "rewrite the scripts")

func TestPlans(t *testing.T) {
	script.Run(t, "testdata/*.plan", *update, func(t *testing.T) func(script.Command) string {
		return func(c script.Command) string {
			p := DefaultPlan()
			p.Loop = c.Name
			p.Cycles, p.ResumedAfter = c.Int("cycles", 3), c.Int("after", 0)
			p.EvalEvery, p.SaveEvery, p.PushEvery = c.Int("eval", 0), c.Int("save", 0), c.Int("push", 1)
			p.WithEval, p.WithSave = c.Has("eval"), c.Has("save")
			p.Evaluated, p.NoPush, p.ExitAfter = c.Has("evaluated"), c.Has("nopush"), c.Int("exit", 0)
			p.Apart = c.Has("apart")
			if err := p.Validate(); err != nil {
				return err.Error()
			}
			var steps []string
			for a := range p.Actions() {
				steps = append(steps, a.String())
			}
			return strings.Join(steps, ", ")
		}
	})
}

func TestActionsStop(t *testing.T) {
	p, n := DefaultPlan(), 0
	for range p.Actions() {
		if n++; n == 5 {
			break
		}
	}
	if n != 5 {
		t.Errorf("stopped after %d actions, want 5", n)
	}
}
