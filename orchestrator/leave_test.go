package orchestrator

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"

	"furlong/rl"
)

var errGone = errors.New("the engine is gone")

// A goer is a set of roles whose engine refuses updates from a version on.
type goer struct {
	*roles
	last int
}

func (g *goer) Publish(v rl.Version) rl.Weights {
	if v.Count() > g.last {
		return gone{g.roles.Publish(v)}
	}
	return g.roles.Publish(v)
}

// gone is weights that nobody can read.
type gone struct{ rl.Weights }

func (gone) Manifest(context.Context) ([]byte, error) { return nil, errGone }

// A run that ends because of its engine or an evaluation leaves a checkpoint of all that has trained, from which it trains each prompt once.
func TestFailedRunsLeaveACheckpoint(t *testing.T) {
	for _, kind := range []string{Synchronous, OneStepOff, FullyAsync} {
		for _, fails := range []string{"update", "evaluation"} {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				l, r := timed(dir, kind, 0)
				l.Config.Cycles, l.Config.SaveEvery, l.Config.EvalEvery = 6, 0, 1
				l.Eval = func(context.Context, int, int) error { return nil }
				if fails == "update" {
					l.Train = &goer{r, 3}
				} else {
					l.Eval = func(_ context.Context, c, _ int) error {
						if c == 3 {
							return errGone
						}
						return nil
					}
				}
				if err := l.Run(t.Context()); !errors.Is(err, errGone) {
					t.Fatalf("%s, failing %s: run ends with %v, want %v", kind, fails, err, errGone)
				}
				if n, err := Newest(filepath.Clean(l.Dir)); n != 3 || err != nil {
					t.Fatalf("%s, failing %s: newest checkpoint is of cycle %d (%v), want 3", kind, fails, n, err)
				}
				again, r2 := timed(dir, kind, 1)
				again.Config.Cycles = 6
				r2.trained = r.trained
				if c, err := again.Load(t.Context()); c != 3 || err != nil {
					t.Fatalf("%s, failing %s: resumed after cycle %d (%v)", kind, fails, c, err)
				}
				if err := again.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				twice := map[string]bool{}
				for _, id := range r2.trained {
					if twice[id] {
						t.Errorf("%s, failing %s: prompt %s trained twice", kind, fails, id)
					}
					twice[id] = true
				}
			})
		}
	}
}
