package schedule

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// A Deal says how micro-batches come to ranks.
type Deal uint8

// The ways to deal.
const (
	Balanced Deal = iota // ranks get alike sums of tokens
	InTurn               // the fullest to rank 0, the next to rank 1, and so on
)

// Config says for whom a step is planned.
type Config struct {
	Ranks  int // data parallel ones
	Budget int // tokens of a micro-batch: of all context parallel ranks that share it
	Deal   Deal
}

// A MicroBatch is the samples of one pass. One without samples is there for the count: its rank computes nothing and meets the others.
type MicroBatch struct {
	Samples []int // ascending numbers, as in lengths
	Tokens  int
}

// A Plan is the micro-batches of each rank, the fullest first, so that what ranks do at the same time is of a size and memory that does not suffice shows at once.
type Plan struct {
	Ranks [][]MicroBatch
}

// New plans a step over samples of these lengths.
func New(lengths []int, c Config) (Plan, error) {
	if err := c.check(lengths); err != nil {
		return Plan{}, err
	}
	all := firstFit(lengths, c.Budget)
	all = divide(all, lengths, c.Ranks)
	fullestFirst(all)
	if c.Deal == InTurn {
		return Plan{inTurn(all, c.Ranks)}, nil
	}
	ranks := balance(all, c.Ranks)
	e := evening{lengths, c.Budget, looks}
	e.do(ranks)
	return Plan{ranks}, nil
}

func fullestFirst(all []MicroBatch) {
	slices.SortStableFunc(all, func(a, b MicroBatch) int { return cmp.Compare(b.Tokens, a.Tokens) })
}

// most is how many tokens a step may have, so that no sum or difference of them overflows.
const most = 1 << 60

// check reports what no plan can be made of.
func (c Config) check(lengths []int) error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Ranks < 1 {
		bad("%d ranks, want at least 1", c.Ranks)
	}
	if c.Budget < 1 {
		bad("a budget of %d tokens a micro-batch, want at least 1", c.Budget)
	}
	if c.Deal > InTurn {
		bad("deal %d, want %d (balanced) or %d (in turn)", c.Deal, Balanced, InTurn)
	}
	if len(lengths) < c.Ranks {
		bad("%d samples for %d ranks, want at least one for each", len(lengths), c.Ranks)
	}
	sum := 0
	for i, n := range lengths {
		if n < 1 {
			bad("sample %d has %d tokens, want at least 1", i, n)
			break
		}
		if n > most-sum {
			bad("samples 0 to %d have more than %d tokens together, which is beyond counting", i, most)
			break
		}
		sum += n
	}
	return errors.Join(errs...)
}

// MicroBatches returns the number of micro-batches of each rank.
func (p Plan) MicroBatches() int { return len(p.Ranks[0]) }

// Tokens returns the tokens of each rank.
func (p Plan) Tokens() []int {
	out := make([]int, len(p.Ranks))
	for r, all := range p.Ranks {
		out[r] = tokens(all)
	}
	return out
}

func tokens(all []MicroBatch) (n int) {
	for _, m := range all {
		n += m.Tokens
	}
	return n
}

// Imbalance returns the tokens of the fullest rank over the mean of all: 1 where all have the same, and the factor by which the step takes longer than it
// had to.
func (p Plan) Imbalance() float64 {
	most, sum := 0, 0.0
	for _, n := range p.Tokens() {
		most = max(most, n)
		sum += float64(n)
	}
	return float64(most) * float64(len(p.Ranks)) / sum
}
