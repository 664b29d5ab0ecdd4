package sched

import (
	"cmp"
	"fmt"
	"slices"
)

// Config is what limits a pass.
type Config struct {
	MaxRunning int // sequences that hold pages at a time
	MaxPrefill int // prompt tokens of one pass, beside one token of each sequence that decodes
}

// A Memory holds rows of sequences in pages. Only the scheduler calls it.
type Memory interface {
	// Fits reports whether a sequence of n tokens has room when it is alone.
	Fits(n int) bool
	// Open lets a sequence hold what is known of its tokens and returns how many those are, fewer than it has. It reports false, and nothing is
	// held, when the rest up to n tokens has no room now.
	Open(id int64, n int) (known int, ok bool)
	// Grow makes room for a sequence's tokens below n and returns below which there is room: n or less.
	Grow(id int64, n int) int
	// Common returns how many tokens two sequences begin with alike; it is asked about sequences with one Prompt.
	Common(a, b int64) int
	// Close gives back all that a sequence holds.
	Close(id int64)
}

// A Seq is a sequence to run.
type Seq struct {
	ID     int64
	Tokens int    // that it has, at least 1
	Most   int    // tokens whose rows it can ever need
	Prompt uint64 // equal for sequences that may begin alike and shall then wait for one another; 0 for none
	Shared int    // first tokens whose rows it takes from others that have them: fewer than Tokens
}

// A Chunk is the part of a sequence that a pass computes: tokens From up to To.
type Chunk struct {
	ID       int64
	From, To int
	Last     bool // To is all it has: the pass yields its next token
}

// A Plan is one forward pass. The empty plan means that there is nothing to do.
type Plan struct {
	Decode  []Chunk  // one token each
	Prefill []Chunk  // the rest
	Start   []Opened // sequences that begin with this pass
	Evict   []int64  // sequences that lost their pages and went back to the queue
}

// Opened is a sequence that begins, with Known tokens that need not be computed.
type Opened struct {
	ID    int64
	Known int
}

// Len returns the number of tokens.
func (p *Plan) Len() int {
	n := len(p.Decode)
	for _, c := range p.Prefill {
		n += c.To - c.From
	}
	return n
}

type seq struct {
	Seq
	age  int64
	done int // tokens whose rows exist
	room int // tokens that the pass being planned can reach
}

func (q *seq) pending() int { return q.Tokens - q.done }

// A Scheduler is the state machine. One goroutine uses it.
type Scheduler struct {
	cfg     Config
	mem     Memory
	all     map[int64]*seq
	running []*seq // by age
	queue   []*seq // by age
	ages    int64
	full    bool   // a sequence gave way and none has ended since
	plan    Plan   // of the last Next, until Done
	leaders []*seq // that compute more than one token which others may wait for
}

// New returns a scheduler without sequences.
func New(cfg Config, mem Memory) *Scheduler {
	if cfg.MaxRunning < 1 || cfg.MaxPrefill < 1 {
		panic(fmt.Sprintf("sched: limits are %+v, want at least 1", cfg))
	}
	return &Scheduler{cfg: cfg, mem: mem, all: map[int64]*seq{}}
}

// Running returns how many sequences hold pages, and Queued how many wait for some.
func (s *Scheduler) Running() int { return len(s.running) }

// Queued returns how many sequences wait.
func (s *Scheduler) Queued() int { return len(s.queue) }

// Held returns how many tokens of running sequences have rows.
func (s *Scheduler) Held() (n int) {
	for _, q := range s.running {
		n += q.done
	}
	return n
}

// Has reports whether a sequence is known.
func (s *Scheduler) Has(id int64) bool { return s.all[id] != nil }

// Add puts a sequence at the end of the queue.
func (s *Scheduler) Add(q Seq) error {
	switch {
	case s.all[q.ID] != nil:
		return fmt.Errorf("sequence %d is already in flight", q.ID)
	case q.Tokens < 1:
		return fmt.Errorf("sequence %d has no tokens, want at least 1", q.ID)
	case !s.mem.Fits(max(q.Most, q.Tokens)):
		return fmt.Errorf("sequence %d can grow to %d tokens, more than all pages hold", q.ID, max(q.Most, q.Tokens))
	}
	s.ages++
	n := &seq{Seq: q, age: s.ages}
	s.all[q.ID] = n
	s.queue = append(s.queue, n)
	return nil
}

// Append says that the pass yielded a sequence's next token, and that it goes on.
func (s *Scheduler) Append(id int64) { s.get(id).Tokens++ }

// Remove ends a sequence, finished or not, and gives back its pages.
func (s *Scheduler) Remove(id int64) {
	q := s.get(id)
	delete(s.all, id)
	if i := find(s.running, q); i >= 0 {
		s.running = slices.Delete(s.running, i, i+1)
		s.mem.Close(id)
		s.full = false
		return
	}
	i := find(s.queue, q)
	s.queue = slices.Delete(s.queue, i, i+1)
}

// Retract sends all running sequences back to the queue, for instance because their rows are no longer valid.
func (s *Scheduler) Retract() (ids []int64) {
	for len(s.running) > 0 {
		ids = append(ids, s.giveWay())
	}
	s.full = false
	return ids
}

// Done says that the plan of the last Next was carried out.
func (s *Scheduler) Done() {
	for _, chunks := range [][]Chunk{s.plan.Decode, s.plan.Prefill} {
		for _, c := range chunks {
			if q := s.all[c.ID]; q != nil {
				q.done = c.To
			}
		}
	}
}

func (s *Scheduler) get(id int64) *seq {
	q := s.all[id]
	if q == nil {
		panic(fmt.Sprintf("sched: no sequence %d", id))
	}
	return q
}

func find(list []*seq, q *seq) int {
	i, ok := slices.BinarySearchFunc(list, q.age, func(a *seq, age int64) int { return cmp.Compare(a.age, age) })
	if !ok || list[i] != q {
		return -1
	}
	return i
}

func insert(list []*seq, q *seq) []*seq {
	i, _ := slices.BinarySearchFunc(list, q.age, func(a *seq, age int64) int { return cmp.Compare(a.age, age) })
	return slices.Insert(list, i, q)
}
