package grammar

// nullable says of each rule whether it matches the empty text. Each node is visited at most once: one that waits for a rule to turn out
// nullable stands in that rule's list.
func (d *draft) nullable() []bool {
	empty := make([]bool, len(d.rules))
	waiting := make([][]int32, len(d.rules))
	seen := make([]bool, len(d.nodes))
	var queue []int32
	push := func(nodes ...int32) {
		for _, n := range nodes {
			if !seen[n] {
				seen[n] = true
				queue = append(queue, n)
			}
		}
	}
	for i, r := range d.rules {
		if r.made == nil {
			push(r.start)
		} else {
			empty[i] = r.made.nodes[r.made.start].final
		}
	}
	for len(queue) > 0 {
		n := &d.nodes[queue[len(queue)-1]]
		queue = queue[:len(queue)-1]
		if n.endsRule && !empty[n.ruleToEnd] {
			empty[n.ruleToEnd] = true
			push(waiting[n.ruleToEnd]...)
		}
		push(n.free...)
		push(n.atBegin...)
		push(n.atEnd...)
		for _, c := range n.calls {
			if waiting[c.rule] = append(waiting[c.rule], c.to); empty[c.rule] {
				push(c.to)
			}
		}
	}
	return empty
}

// straighten turns rules that begin with themselves into loops: A = A x | y is y followed by any number of x. A rule gets a new first node that
// leads wherever the old one did for nothing read, but for the calls of itself; what followed those follows its end.
func (d *draft) straighten(empty []bool) {
	for i := range d.rules {
		r, id := &d.rules[i], int32(i)
		if r.made != nil {
			continue
		}
		first := d.reach(r.start, empty)
		if !d.anyCalls(first, id) || d.err != nil {
			continue
		}
		start := d.node()
		d.nodes[start].whole = true
		for _, n := range first {
			if n == r.last {
				d.free(start, n)
			}
			for _, s := range d.nodes[n].spans {
				d.read(start, s.lo, s.hi, s.to)
			}
			for _, c := range d.nodes[n].calls {
				if c.rule == id {
					d.free(r.last, c.to)
				} else {
					d.call(start, c.rule, c.to)
				}
			}
		}
		r.start = start
	}
}

// reach lists the nodes that a text may be at when it is at n, and n.
func (d *draft) reach(n int32, empty []bool) []int32 {
	nodes, seen := []int32{n}, map[int32]bool{n: true}
	add := func(to int32) {
		if !seen[to] {
			seen[to] = true
			nodes = append(nodes, to)
		}
	}
	for i := 0; i < len(nodes); i++ {
		for _, to := range d.nodes[nodes[i]].free {
			add(to)
		}
		for _, c := range d.nodes[nodes[i]].calls {
			if empty[c.rule] {
				add(c.to)
			}
		}
	}
	return nodes
}

func (d *draft) anyCalls(nodes []int32, rule int32) bool {
	for _, n := range nodes {
		for _, c := range d.nodes[n].calls {
			if c.rule == rule {
				return true
			}
		}
	}
	return false
}
