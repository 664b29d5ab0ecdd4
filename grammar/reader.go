package grammar

import (
	"sync"
)

// A reader reads texts by a grammar and remembers what it met, for all who read by the same grammar in the same vocabulary. One at a time does.
type reader struct {
	g *Grammar
	v *Vocabulary

	mu      sync.Mutex
	root    *set // where texts begin
	unknown *set // what follows a rule when nobody knows what
	table   map[uint64][]*set
	all     []*set // that remember something in this era
	numSets uint64
	era     int
	bytes   int // remembered, about

	partial  map[int32]*partial // of nodes
	effort   int                // places looked at for the mask being made
	narrowed bool               // something was left out since it was last cleared

	// Used while one thing is done, kept for the next.
	moved, places []pair
	pending       []int32
	callers       [][]pair // by rule
	tick          int
	path          []*set // by depth in the trie
	marks         []uint64
}

func newReader(g *Grammar, v *Vocabulary) *reader {
	r := &reader{
		g: g, v: v, table: map[uint64][]*set{}, partial: map[int32]*partial{}, callers: make([][]pair, len(g.starts)),
		path: make([]*set, v.height[0]+1), marks: make([]uint64, (v.size+63)/64),
	}
	r.root = r.start()
	return r
}

// start makes the sets that a reader begins with.
func (r *reader) start() *set {
	r.unknown = r.intern([]pair{{hole, nil}})
	return r.close([]pair{{r.g.starts[r.g.root], r.intern([]pair{{done, nil}})}})
}
