package taps

import (
	"cmp"
	"fmt"
	"slices"
)

// Plain returns the differences of two sets of one sequence as they are, at each boundary that both have, for the rows that both have. Errors are relative to b.
// Rows of slots are compared expert by expert.
func Plain(a, b *Set) ([]Diff, error) {
	if !slices.Equal(a.Tokens, b.Tokens) {
		return nil, fmt.Errorf("sets are of different sequences, of %d and %d tokens", len(a.Tokens), len(b.Tokens))
	}
	var diffs []Diff
	for _, t := range b.Taps() {
		if own := a.taps[t.place()]; own != nil {
			diffs = append(diffs, plain(a, b, own, t))
		}
	}
	return diffs, nil
}

// plain compares two taps of one boundary.
func plain(sa, sb *Set, a, b *Tap) Diff {
	at := b.Boundary()
	d := Diff{Layer: b.Layer, Name: b.Name, First: max(a.First, b.First), Rate: 1, At: -1, Same: true}
	if at.rows == ofWindows {
		d.Rate = cmp.Or(b.Rate, a.Rate, len(sb.Tokens)/max(1, b.First+b.Rows()), 1)
	}
	end := min(a.First+a.Rows(), b.First+b.Rows())
	switch {
	case end <= d.First:
		d.Skipped = "no row is of both"
	case at.Choice:
		d.sets(a, b, end)
	case !slices.Equal(a.Shape, b.Shape):
		d.Problem = fmt.Sprintf("rows are %v, want %v", a.Shape, b.Shape)
	default:
		w := b.Width()
		x, y := a.Values[(d.First-a.First)*w:(end-a.First)*w], b.Values[(d.First-b.First)*w:(end-b.First)*w]
		if at.rows == ofSlots {
			x = slots(x, d.First, b, sa.Find(b.Layer, "router_indices"), sb.Find(b.Layer, "router_indices"))
		}
		d.see(x, y, w, b.Name == LogProb)
	}
	return d
}

// sets compares choices as sets.
func (d *Diff) sets(a, b *Tap, end int) {
	d.Errors = make([]float64, end-d.First)
	for i := range d.Errors {
		gone, come := apart(a.Picks(d.First+i-a.First), b.Picks(d.First+i-b.First))
		if len(gone)+len(come) > 0 {
			d.Same = false
			d.Differ = append(d.Differ, i)
			d.set(i, 1)
		}
	}
}

// slots returns rows x of a, the first of position first, with each token's slots in the order in which b names the experts; slots of experts that b does
// not name stay where there is room, so that they count as different.
func slots(x []float32, first int, t, a, b *Tap) []float32 {
	if a == nil || b == nil {
		return x
	}
	k, w := t.Shape[0], t.Width()
	out := slices.Clone(x)
	for i := range len(x) / w {
		ia, ib := first+i-a.First, first+i-b.First
		if ia < 0 || ib < 0 || ia >= a.Rows() || ib >= b.Rows() || a.Width() != k || b.Width() != k {
			continue
		}
		for to, from := range match(a.Picks(ia), b.Picks(ib)) {
			copy(out[i*w+to*(w/k):][:w/k], x[i*w+from*(w/k):][:w/k])
		}
	}
	return out
}

// match returns, for each place of b, a place of a with the same number; what is left over goes in order.
func match(a, b []int32) []int {
	from, used := make([]int, len(b)), make([]bool, len(a))
	for to, e := range b {
		from[to] = -1
		for i, v := range a {
			if v == e && !used[i] {
				from[to], used[i] = i, true
				break
			}
		}
	}
	for to := range from {
		if from[to] < 0 {
			from[to] = slices.Index(used, false)
			used[from[to]] = true
		}
	}
	return from
}
