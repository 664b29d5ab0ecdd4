package grammar

// A piece adds to a draft what leads from one node to another by the texts of an expression. It may be used many times. It adds no edge into
// from and none out of to, so that pieces that share their nodes don't run into each other.
type piece func(d *draft, from, to int32)

// nothing is the empty text.
func nothing(d *draft, from, to int32) { d.free(from, to) }

// never is no text.
func never(*draft, int32, int32) {}

// begin and end are empty texts that stand at the begin and the end of the whole text only.
func begin(d *draft, from, to int32) {
	if d.err == nil {
		d.nodes[from].atBegin = append(d.nodes[from].atBegin, to)
	}
}

func end(d *draft, from, to int32) {
	if d.err == nil {
		d.nodes[from].atEnd = append(d.nodes[from].atEnd, to)
	}
}

// text is s.
func text(s string) piece {
	if s == "" {
		return nothing
	}
	return func(d *draft, from, to int32) {
		for i := range len(s) - 1 {
			next := d.node()
			d.read(from, s[i], s[i], next)
			from = next
		}
		d.read(from, s[len(s)-1], s[len(s)-1], to)
	}
}

// octet is one byte of lo to hi.
func octet(lo, hi byte) piece {
	return func(d *draft, from, to int32) { d.read(from, lo, hi, to) }
}

// rule is a text of a rule.
func rule(id int32) piece {
	return func(d *draft, from, to int32) { d.call(from, id, to) }
}

// sequence is one after the other.
func sequence(parts ...piece) piece {
	if len(parts) == 0 {
		return nothing
	}
	return func(d *draft, from, to int32) {
		for _, p := range parts[:len(parts)-1] {
			next := d.node()
			p(d, from, next)
			from = next
		}
		parts[len(parts)-1](d, from, to)
	}
}

// either is one of them.
func either(parts ...piece) piece {
	return func(d *draft, from, to int32) {
		for _, p := range parts {
			p(d, from, to)
		}
	}
}

// maybe is p or nothing.
func maybe(p piece) piece { return either(nothing, p) }

// many is any number of p.
func many(p piece) piece {
	return func(d *draft, from, to int32) {
		hub := d.node()
		d.free(from, hub)
		p(d, hub, hub)
		d.free(hub, to)
	}
}

// times is low to high of p, and without a limit for a negative high. It stops adding once the draft is full.
func times(p piece, low, high int) piece {
	return func(d *draft, from, to int32) {
		for i := 0; i < low && d.err == nil; i++ {
			next := d.node()
			p(d, from, next)
			from = next
		}
		if high < 0 {
			many(p)(d, from, to)
			return
		}
		for i := low; i < high && d.err == nil; i++ {
			next := d.node()
			p(d, from, next)
			d.free(from, to)
			from = next
		}
		d.free(from, to)
	}
}
