package gather

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"furlong/rl"
)

// A stock is the groups that were handed out and are in no batch yet, and what is decided about them. The same calls give the same answers: it reads no
// clock, starts nothing, and is used under the gatherer's lock.
type stock struct {
	run     Run
	filter  filter
	begun   []*Group         // to be asked for again, in the order of their prompts
	flying  map[int64]*Group // asked for, being drawn or graded
	ready   []*Group         // finished and kept, in the order in which that happened
	account Account          // without what waits

	row      []entry // prompt-order: the groups of this batch's rounds that are not certain yet, in the order of their prompts
	certain  int     // prompt-order: groups ready and before all of row
	asked    int     // groups asked for since the last batch
	broken   int     // groups in a row that the engine failed at
	unjudged int     // groups in a row that the grader failed at
	seen     tallied // since the last batch
}

// An entry is what became of a group of the present rounds.
type entry struct {
	number      int64
	ended, kept bool
}

// tallied is what has been seen since the last batch.
type tallied struct {
	graded, kept int
	rates        [11]int        // graded groups by tenths of their pass rate
	filtered     map[string]int // groups that the filter dropped, by reason
	stale        int            // groups found too old
	aborted      int            // groups ended from outside
	exceptions   int            // groups dropped because something broke
	surplus      int            // tokens cut off
	ages, oldest int            // of the groups looked at: their sum and their greatest
	looked       int
}

func newStock(r Run) *stock {
	f, _ := parseFilter(r.Filter) // Validate has complained
	if r.Async {
		r.Policy = PromptOrder // groups are taken as they come
	}
	return &stock{run: r, filter: f, flying: map[int64]*Group{}, seen: tallied{filtered: map[string]int{}}}
}

func byNumber(a, b *Group) int { return cmp.Compare(a.number(), b.number()) }

// renew begins the rounds of another batch.
func (s *stock) renew() {
	s.asked, s.seen = 0, tallied{filtered: map[string]int{}}
}

// renewRow begins the order of prompts anew with what is ready.
func (s *stock) renewRow() {
	s.row, s.certain = nil, 0
	if s.run.Policy == PromptOrder {
		slices.SortFunc(s.ready, byNumber)
		for _, g := range s.ready {
			s.row = append(s.row, entry{g.number(), true, true})
		}
		s.settle()
	}
}

// settle moves what is certain off the beginning of row.
func (s *stock) settle() {
	for len(s.row) > 0 && s.row[0].ended {
		if s.row[0].kept {
			s.certain++
		}
		s.row = s.row[1:]
	}
}

// want returns how many groups are to be asked for now.
func (s *stock) want() int {
	if s.run.Async {
		return s.room()
	}
	n, round := 0, s.run.round()
	switch s.run.Policy {
	case PromptOrder: // what is not certain may still be dropped, or come before what is there
		if s.certain+len(s.row) < s.run.Batch {
			n = round - s.certain - len(s.row)
		}
	case Reservoir:
		if len(s.flying) == 0 && len(s.ready) < s.run.Batch {
			n = round
		}
	default:
		if len(s.flying)+len(s.ready) < s.run.Batch {
			n = round - len(s.flying) - len(s.ready)
		}
	}
	if limit := s.limit(); limit > 0 {
		n = min(n, limit-s.asked)
	}
	return max(n, 0)
}

// room returns how many more groups the fully asynchronous loop has in flight.
func (s *stock) room() int {
	n, open := s.run.PerPrompt, 0
	for _, g := range s.flying {
		if s.run.Granularity == "group" {
			open += n
		} else {
			open += g.open()
		}
	}
	return max(0, min((s.run.budget()-open)/n, s.run.capacity()-len(s.flying)-len(s.ready)))
}

// limit returns how many groups a batch may cost, 0 for any number.
func (s *stock) limit() int {
	if s.run.MaxRounds == 0 || s.filter.kind == everything {
		return 0
	}
	return (1 + s.run.MaxRounds) * s.run.round()
}

// starved reports whether no batch will come.
func (s *stock) starved() bool {
	if s.limit() == 0 || s.complete() {
		return false
	}
	if s.run.Async {
		return s.seen.graded >= s.limit()
	}
	return len(s.flying) == 0 && s.asked >= s.limit()
}

// complete reports whether the next batch is there.
func (s *stock) complete() bool {
	switch {
	case s.run.Async || s.run.Policy == First:
		return len(s.ready) >= s.run.Batch
	case s.run.Policy == PromptOrder && s.run.Partial:
		return s.certain >= s.run.Batch
	}
	return len(s.flying) == 0 && len(s.ready) >= s.run.Batch
}

// ask hands out a group: one that was begun, or a prompt's.
func (s *stock) ask(next func() (*rl.Prompt, error), v rl.Version) (*Group, error) {
	g, err := s.first(next)
	if err != nil {
		return nil, err
	}
	if g.From == 0 {
		g.From = v
	}
	s.flying[g.number()] = g
	s.asked++
	if s.run.Policy == PromptOrder {
		at, _ := slices.BinarySearchFunc(s.row, g.number(), func(e entry, n int64) int { return cmp.Compare(e.number, n) })
		s.row = slices.Insert(s.row, at, entry{number: g.number()})
	}
	return g, nil
}

// first returns what is to be asked for first.
func (s *stock) first(next func() (*rl.Prompt, error)) (*Group, error) {
	if len(s.begun) > 0 {
		g := s.begun[0].again()
		s.begun = s.begun[1:]
		return g, nil
	}
	p, err := next()
	if err != nil {
		return nil, err
	}
	s.account.Prompts.Generated++
	s.account.Samples.Generated += int64(s.run.PerPrompt)
	return &Group{Prompt: p, Samples: make([]*rl.Sample, s.run.PerPrompt)}, nil
}

// came takes in a sample of a group, as far as it was drawn.
func (s *stock) came(g *Group, x *rl.Sample) error {
	if x.Index < 0 || x.Index >= len(g.Samples) || x.Prompt == nil || x.Prompt.Group != g.number() {
		return fmt.Errorf("engine gave sample %d of another prompt than %s", x.Index, g.Prompt.ID)
	}
	had := g.Samples[x.Index]
	if over(had) || len(x.Response) < length(had) {
		return fmt.Errorf("engine gave sample %d of prompt %s with %d tokens, want it once, with the %d that were there", x.Index, g.Prompt.ID, len(x.Response), length(had))
	}
	s.account.Tokens.Generated += int64(len(x.Response) - length(had))
	if over(x) || len(x.Response) > 0 {
		g.Samples[x.Index] = x
	}
	return nil
}

// ended says that g flies no more, and whether it is kept.
func (s *stock) ended(g *Group, kept bool) {
	delete(s.flying, g.number())
	for i, e := range s.row {
		if e.number == g.number() {
			s.row[i].ended, s.row[i].kept = true, kept
		}
	}
	s.settle()
}

// drop gives a group up that was in flight.
func (s *stock) drop(g *Group, reason string) {
	s.account.drop(g, reason)
	s.ended(g, false)
}

// back puts a group that was in flight among those to be asked for again.
func (s *stock) back(g *Group) {
	s.ended(g, false)
	s.begun = append(s.begun, g)
	slices.SortStableFunc(s.begun, byNumber)
}

// graded decides about a group all of whose samples are judged.
func (s *stock) graded(g *Group) {
	s.broken = 0
	s.seen.graded++
	if j := judged(g.Samples); len(j) > 0 {
		s.seen.rates[int(10*rate(j))]++
	}
	if why := s.filter.reject(g.Samples); why != "" {
		s.seen.filtered[why]++
		s.drop(g, ofFilter+why)
		return
	}
	s.seen.kept++
	s.ended(g, true)
	s.ready = append(s.ready, g)
}

// stopped decides about a group that came back unfinished: the batch was full, or all is to rest (keep), or somebody else ended it. It reports whether the group
// is to go on at once.
func (s *stock) stopped(g *Group, keep bool) (again bool) {
	switch {
	case keep || g.cut && s.run.Partial:
		s.back(g)
	case g.cut:
		s.seen.surplus += g.tokens()
		s.drop(g, Surplus)
	case s.run.Unused == Retry:
		s.seen.aborted++
		return true
	default:
		s.seen.aborted++
		s.drop(g, Aborted)
	}
	return false
}

// failed decides about a group that the engine failed at, and reports whether it is to be tried again.
func (s *stock) failed(g *Group) bool {
	if g.Failed++; g.Failed <= s.run.Retries {
		return true
	}
	s.broken++
	s.seen.exceptions++
	s.drop(g, EngineError)
	return false
}

// pick takes the groups of a batch out of what is ready, in the order of their prompts.
func (s *stock) pick(cycle int) []*Group {
	switch s.run.Policy {
	case PromptOrder:
		if !s.run.Async {
			slices.SortFunc(s.ready, byNumber)
		}
	case Reservoir:
		slices.SortFunc(s.ready, byNumber)
		s.shuffle(cycle)
	}
	out := slices.Clone(s.ready[:s.run.Batch])
	s.ready = slices.Clone(s.ready[s.run.Batch:])
	slices.SortFunc(out, byNumber)
	if s.run.Policy == Reservoir {
		slices.SortFunc(s.ready, byNumber)
	}
	return out
}

// shuffle brings groups to the front of ready by the seed, as many as a batch holds.
func (s *stock) shuffle(cycle int) {
	for i := range s.run.Batch {
		x := rl.MixSeed(0x7265736572766f69, s.run.Seed, uint64(cycle), uint64(i))
		k := i + int(x%uint64(len(s.ready)-i))
		s.ready[i], s.ready[k] = s.ready[k], s.ready[i]
	}
}

// hung says what a starving run has seen.
func (s *stock) hung() error {
	var seen strings.Builder
	for i, n := range s.seen.rates {
		if n > 0 {
			fmt.Fprintf(&seen, " %d of pass rate %.1f;", n, float64(i)/10)
		}
	}
	return fmt.Errorf("no batch of %d groups after %d rounds of %d (--max-resample-rounds %d): %d of %d groups were kept by --dynamic-sampling-filter-path %s; seen were%s "+
		"want prompts that are neither always solved nor never, more --n-samples-per-prompt, a wider filter, or more rounds",
		s.run.Batch, 1+s.run.MaxRounds, s.run.round(), s.run.MaxRounds, s.seen.kept, s.seen.graded, s.run.Filter, &seen)
}

// waiting returns the account with all that lies in the stock and in batches.
func (s *stock) waiting(batches ...[]*Group) Account {
	a := s.account.Clone()
	for _, list := range append(batches, s.begun, s.ready) {
		for _, g := range list {
			a.wait(g)
		}
	}
	for _, g := range s.flying {
		a.wait(g)
	}
	return a
}
