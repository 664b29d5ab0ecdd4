package orchestrator

import (
	"context"
	"strings"
	"testing"

	"furlong/rl"
)

// A faltering trainer says of each cycle how many of its steps it skipped and took.
type faltering struct {
	*sum
	skipped, taken float64
}

func (f *faltering) Step(ctx context.Context, b *rl.Batch) (rl.Stats, error) {
	stats, err := f.sum.Step(ctx, b)
	if err == nil {
		stats["train/skipped_steps"], stats["train/steps_taken"] = f.skipped, f.taken
	}
	return stats, err
}

// Of several steps a cycle, skipped ones are in a row only where none was taken; they all count.
func TestSkippedStepsOfSeveral(t *testing.T) {
	for _, tt := range []struct {
		skipped, taken float64
		ends           int // the cycle that ends the run; 0 for none
	}{{1, 1, 0}, {0, 2, 0}, {2, 0, 2}, {3, 0, 1}} {
		d := &diary{}
		l, s := newLoop("", "sync", 0, d)
		l.Train = &faltering{s, tt.skipped, tt.taken}
		err := l.Run(t.Context())
		if (err != nil) != (tt.ends > 0) || err != nil && !strings.Contains(err.Error(), "steps in a row were skipped") {
			t.Errorf("%v skipped and %v taken: %v", tt.skipped, tt.taken, err)
		}
		if tt.ends > 0 && len(d.reports) != tt.ends {
			t.Errorf("%v skipped and %v taken: the run ends with cycle %d, want %d", tt.skipped, tt.taken, len(d.reports), tt.ends)
		}
	}
}
