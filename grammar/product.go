package grammar

import "fmt"

// A product is put together from two machines: its nodes are pairs of theirs.
type product struct {
	a, b  *machine
	minus bool
	index map[[2]int32]int32
	pairs [][2]int32
	out   machine
}

// both makes the machine of texts that two machines without calls read; minus, of those that only a reads.
func both(a, b *machine, minus bool) (*machine, error) {
	p := &product{a: a, b: b, minus: minus, index: map[[2]int32]int32{}}
	p.number([2]int32{a.start, b.start})
	for i := 0; i < len(p.pairs); i++ {
		if i >= maxNodes {
			return nil, fmt.Errorf("it needs more than %d nodes when put together, want it simpler", maxNodes)
		}
		p.leave(p.pairs[i])
	}
	p.out.fold()
	return &p.out, nil
}

func (p *product) number(x [2]int32) int32 {
	n, ok := p.index[x]
	if !ok {
		n = int32(len(p.pairs))
		p.index[x] = n
		p.pairs = append(p.pairs, x)
	}
	return n
}

// leave adds the node of a pair. b is at -1 once it reads no more.
func (p *product) leave(x [2]int32) {
	a, b := &p.a.nodes[x[0]], &node{}
	if x[1] >= 0 {
		b = &p.b.nodes[x[1]]
	}
	n := node{final: a.final && b.final != p.minus}
	for _, s := range a.spans {
		for lo := int(s.lo); lo <= int(s.hi); {
			to, last := b.stretch(byte(lo))
			last = min(last, s.hi)
			if to >= 0 || p.minus {
				n.spans = append(n.spans, span{byte(lo), last, p.number([2]int32{s.to, to})})
			}
			lo = int(last) + 1
		}
	}
	p.out.nodes = append(p.out.nodes, n)
}
