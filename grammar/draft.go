package grammar

import "fmt"

// A draft is a grammar while it is put together: rules as nondeterministic automata that share one list of nodes.
// The first thing that is too large for it becomes err, and nothing is added from there on.
type draft struct {
	nodes []draftNode // nodes[0] is where edges go once there is an error
	rules []draftRule
	work  int // nodes looked at so far to make rules deterministic
	err   error

	// Lent to one subsets after the other.
	seen []int32
	tick int32
}

// A draftNode is left by reading a byte, by calling a rule, or for nothing; two kinds of the last kind hold at one end of the text only.
type draftNode struct {
	spans     []span
	calls     []call
	free      []int32
	atBegin   []int32
	atEnd     []int32
	whole     bool // what its calls reach for nothing is in its edges
	endsRule  bool
	ruleToEnd int32 // of which it is the last node, when endsRule
}

// A span leads to a node for each byte from lo to hi.
type span struct {
	lo, hi byte
	to     int32
}

// A call leads to a node for each text of a rule.
type call struct{ rule, to int32 }

type draftRule struct {
	name        string // for messages
	start, last int32
	made        *machine // instead of start and last, when it is deterministic already
}

func newDraft() *draft { return &draft{nodes: make([]draftNode, 1)} }

// node adds one.
func (d *draft) node() int32 {
	if len(d.nodes) >= maxNodes {
		d.fail(fmt.Errorf("it needs more than %d nodes, want fewer or shorter repetitions", maxNodes))
	}
	if d.err != nil {
		return 0
	}
	d.nodes = append(d.nodes, draftNode{})
	return int32(len(d.nodes) - 1)
}

func (d *draft) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// rule adds one that matches nothing until define gives it a body.
func (d *draft) rule(name string) int32 {
	if len(d.rules) >= maxRules {
		d.fail(fmt.Errorf("it needs more than %d rules", maxRules))
		return 0
	}
	r := draftRule{name: name, start: d.node(), last: d.node()}
	id := int32(len(d.rules))
	d.nodes[r.last].endsRule, d.nodes[r.last].ruleToEnd = true, id
	d.rules = append(d.rules, r)
	return id
}

// define adds p to what a rule matches.
func (d *draft) define(rule int32, p piece) {
	if d.err == nil {
		p(d, d.rules[rule].start, d.rules[rule].last)
	}
}

func (d *draft) free(from, to int32) {
	if d.err == nil && from != to {
		d.nodes[from].free = append(d.nodes[from].free, to)
	}
}

func (d *draft) read(from int32, lo, hi byte, to int32) {
	if d.err == nil {
		d.nodes[from].spans = append(d.nodes[from].spans, span{lo, hi, to})
	}
}

func (d *draft) call(from, rule, to int32) {
	if d.err == nil {
		d.nodes[from].calls = append(d.nodes[from].calls, call{rule, to})
	}
}

// stamps returns room for one tick per item of a subsets, and the last tick that is in use.
func (d *draft) stamps() ([]int32, int32) {
	if n := len(d.nodes) << flagBits; len(d.seen) < n {
		d.seen = append(d.seen, make([]int32, n-len(d.seen))...)
	}
	return d.seen, d.tick
}
