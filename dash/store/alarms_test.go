package store

import (
	"testing"

	"furlong/metrics"
	"furlong/verdict"
)

// The page counts what report and terminal count: cycles that ran twice with unequal values stand, though no line of alarms.jsonl says so.
func TestAlarmsNameUnequalCycles(t *testing.T) {
	for _, tt := range []struct {
		differ []string
		want   int
	}{{nil, 0}, {[]string{"rollout/raw_reward"}, 1}} {
		got := alarms(verdict.Run{Twice: []metrics.Repeat{{Kind: metrics.Cycle, Cycle: 4, Differ: tt.differ}}})
		if len(got) != tt.want || tt.want == 1 && (got[0].Since != 4 || got[0].Until != nil || got[0].Link != "/?c=4") {
			t.Errorf("differing in %v: %+v, want %d that stand", tt.differ, got, tt.want)
		}
	}
}
