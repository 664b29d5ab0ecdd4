package layout

import (
	"slices"
	"strings"
	"testing"
)

// The published step: 256 samples on 4 data parallel ranks. At their longest none fits into a micro-batch; as they may be, ranks have alike sums.
func TestPackTheReferenceRun(t *testing.T) {
	p := planned(t, reference(), 43)
	all, err := p.Pack(Step{Samples: 256, Tokens: 8192, Longest: 16384, Response: 4096})
	if err != nil || len(all) != 2 {
		t.Fatalf("packings are %v, %v, want two", all, err)
	}
	if l := all[0]; l.PerRank != 64 || l.Largest != 16384 || l.Fullest != 1 || l.InTurn != 1 || l.Tokens != 256*16384 {
		t.Errorf("longest samples are packed as %+v, want 64 micro-batches of 16384 tokens a rank", l)
	}
	l := all[1]
	if least := (l.Tokens + 4*8192 - 1) / (4 * 8192); l.PerRank < least || l.PerRank > least+1 {
		t.Errorf("%d micro-batches a rank, want %d, or one more", l.PerRank, least)
	}
	if l.Largest > 8192 || l.Fullest < 1 || l.Fullest > 1.1 || l.InTurn < l.Fullest-0.01 {
		t.Errorf("packing is %+v, want at most 8192 tokens a micro-batch, and the fullest rank at most 1.1 of the mean", l)
	}
}

// Context parallel ranks share a micro-batch, so it holds so many times the tokens of one device.
func TestPackForContextRanks(t *testing.T) {
	c := reference()
	c.Pipeline, c.Last, c.Context = 2, 0, 2
	c.First = 21
	p := planned(t, c, 43)
	all, err := p.Pack(Step{Samples: 256, Tokens: 8192, Longest: 16384, Response: 4096})
	if err != nil || p.Data != 4 || all[0].PerRank != 64 || all[0].Largest != 16384 {
		t.Errorf("%d data parallel ranks, packings %+v, %v, want 4, and one sample in each micro-batch", p.Data, all, err)
	}
	if all, _ = p.Pack(Step{Samples: 256, Tokens: 16384, Longest: 16384, Response: 4096}); all[0].PerRank != 32 {
		t.Errorf("%d micro-batches a rank, want 32 of two samples", all[0].PerRank)
	}
}

func TestPackOnlyForRanks(t *testing.T) {
	step := Step{Samples: 256, Tokens: 8192, Longest: 16384, Response: 4096}
	if all, err := planned(t, Default(), 43).Pack(step); all != nil || err != nil {
		t.Errorf("one rank: packings are %v, %v, want none", all, err)
	}
	p := planned(t, reference(), 43)
	step.Samples = packable + 1
	if all, err := p.Pack(step); all != nil || err != nil {
		t.Errorf("a step of %d samples: packings are %v, %v, want none", step.Samples, all, err)
	}
	step.Samples = 3
	if _, err := p.Pack(step); err == nil || !strings.Contains(err.Error(), "a step's micro-batches (--global-batch-size, --max-tokens-per-gpu): 3 samples for 4 ranks, want at least one for each") {
		t.Errorf("three samples: error is %v, want one that counts samples and ranks", err)
	}
}

// The lengths that are assumed: the median is a quarter, a sixth are above one standard deviation, none above the longest.
func TestSpread(t *testing.T) {
	l := spread(10_001, 4096)
	if !slices.IsSorted(l) || l[5000] != 1024 || l[0] < 1 || l[10_000] != 4096 {
		t.Errorf("lengths go from %d by %d to %d, want ascending, 1024 and 4096", l[0], l[5000], l[10_000])
	}
	above, cut := 0, 0
	for _, n := range l {
		if n > 2279 { // 1024*exp(0.8)
			above++
		}
		if n == 4096 {
			cut++
		}
	}
	if above < 1560 || above > 1610 || cut < 400 || cut > 430 {
		t.Errorf("%d of 10001 are above one standard deviation and %d cut off, want about 1587 and 416", above, cut)
	}
}
