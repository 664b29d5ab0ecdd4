package taps

import (
	"fmt"
	"math"
	"slices"

	"furlong/dtype"
	"furlong/tensor"
)

// choose compares the judge's choice with the recorded one, as sets, and puts that in its place if it is possible.
func (f *forced) choose(d *Diff, t *Tap, choice []int32) {
	n := f.in.Len()
	k := len(choice) / n
	if t.First+t.Rows() > n {
		d.Problem = fmt.Sprintf("has rows up to %d, the judge %d", t.First+t.Rows(), n)
		return
	}
	d.Errors, d.Same, d.Terms = make([]float64, t.Rows()), true, f.terms(d.Layer, boundaries[byName[d.Name]])
	score := f.scores(d)
	sound := true // the judge's own choices are possible: one with a mistake planted may make others
	for i := range t.Rows() {
		own, told := choice[(t.First+i)*k:][:k], t.Picks(i)
		sound = sound && f.impossible(d, t.First+i, own, k) == ""
		gone, come := apart(own, told)
		if len(gone)+len(come) == 0 && (len(told) == k || d.Name == "index_topk") {
			continue
		}
		if why := f.impossible(d, t.First+i, told, k); why != "" {
			d.Problem, d.Same = fmt.Sprintf("position %d %s", t.First+i, why), false
			d.Differ = append(d.Differ, i)
			d.set(i, math.Inf(1))
			return
		}
		d.Same = false
		d.Differ = append(d.Differ, i)
		d.set(i, score.margin(t.First+i, gone, come))
	}
	if !sound {
		f.missing[place{d.Layer, d.Name}] = true
		return
	}
	for i := range t.Rows() {
		replace(choice[(t.First+i)*k:][:k], t.Picks(i), d.Name == "index_topk")
	}
}

// replace writes a recorded choice over the judge's: as it stands, or ascending and then -1.
func replace(choice, told []int32, ascending bool) {
	if !ascending {
		copy(choice, told)
		return
	}
	set := members(told)
	for i := range choice {
		choice[i] = -1
		if i < len(set) {
			choice[i] = set[i]
		}
	}
}

// members returns a choice without what stands for none, ascending.
func members(choice []int32) []int32 {
	set := slices.DeleteFunc(slices.Clone(choice), func(v int32) bool { return v < 0 })
	slices.Sort(set)
	return set
}

// apart returns what only a has, and what only b has; of what is there twice each one counts.
func apart(a, b []int32) (onlyA, onlyB []int32) {
	a, b = members(a), members(b)
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0] < b[0]:
			onlyA, a = append(onlyA, a[0]), a[1:]
		case len(a) == 0 || b[0] < a[0]:
			onlyB, b = append(onlyB, b[0]), b[1:]
		default:
			a, b = a[1:], b[1:]
		}
	}
	return onlyA, onlyB
}

// impossible says why the judge can't make a choice at a position, "" if it can.
func (f *forced) impossible(d *Diff, pos int, told []int32, k int) string {
	if d.Name == "index_topk" {
		return impossibleEntries(told, (pos+1)/f.rates[d.Layer], k)
	}
	if len(told) != k {
		return fmt.Sprintf("goes to %d experts, of the judge's to %d", len(told), k)
	}
	experts := f.seen["router_logits"].Dim()
	for _, e := range told {
		if e < 0 || int(e) >= experts {
			return fmt.Sprintf("goes to expert %d, of %d", e, experts)
		}
	}
	return ""
}

func impossibleEntries(told []int32, closed, k int) string {
	set := members(told)
	if len(set) > k {
		return fmt.Sprintf("reads %d entries, want at most %d", len(set), k)
	}
	for i, e := range set {
		if int(e) >= closed {
			return fmt.Sprintf("reads entry %d, when %d windows are closed", e, closed)
		}
		if i > 0 && set[i-1] == e {
			return fmt.Sprintf("reads entry %d twice", e)
		}
	}
	return ""
}

// A scorer says what a choice is made by: the score of an item at a position, and the size of what it is summed from. nil where nothing is.
type scorer func(pos int, item int32) (score, size float64)

// margin returns by how much the worst of those that the judge takes instead is better than the best of what was recorded instead, over their size.
func (s scorer) margin(pos int, gone, come []int32) float64 {
	if s == nil || len(gone) != len(come) {
		return math.Inf(1)
	}
	best, worst, size := math.Inf(-1), math.Inf(1), 0.0
	for _, e := range gone {
		v, of := s(pos, e)
		best, size = math.Max(best, v), math.Max(size, of)
	}
	for _, e := range come {
		v, of := s(pos, e)
		worst, size = math.Min(worst, v), math.Max(size, of)
	}
	return over1(math.Abs(best-worst), size)
}

// scores returns what the layer's choice is made by, computed from what the judge was shown.
func (f *forced) scores(d *Diff) scorer {
	if d.Name == "index_topk" {
		return f.entryScores()
	}
	pre := fmt.Sprintf("model.layers.%d.mlp.gate.", d.Layer)
	if f.param(pre+"tid2eid") != nil {
		return nil // the table alone decides
	}
	logits, bias := f.seen["router_logits"], f.param(pre+"e_score_correction_bias")
	return func(pos int, e int32) (score, size float64) {
		score = math.Sqrt(softplus(at(logits, pos*logits.Dim()+int(e))))
		if bias == nil {
			return score, score
		}
		b := at(bias, int(e))
		return score + b, score + math.Abs(b)
	}
}

// entryScores is of compressed entries: the sum over heads of a weight times what is positive of query times key.
func (f *forced) entryScores() scorer {
	q, w, keys := f.seen["index_q"], f.seen["index_weights"], f.seen["index_keys"]
	if q == nil || w == nil || keys == nil {
		return nil
	}
	heads, dim := w.Dim(), keys.Dim()
	return func(pos int, e int32) (score, size float64) {
		for h := range heads {
			dot, terms := 0.0, 0.0
			for i := range dim {
				v := at(q, (pos*heads+h)*dim+i) * at(keys, int(e)*dim+i)
				dot, terms = dot+v, terms+math.Abs(v)
			}
			weight := at(w, pos*heads+h)
			score += weight * math.Max(0, dot)
			size += math.Abs(weight) * terms
		}
		return score, size
	}
}

func (f *forced) param(name string) *tensor.Tensor {
	for _, p := range f.j.Model.Params() {
		if p.Name == name {
			return p.Value
		}
	}
	return nil
}

// at returns an element of an F32, BF16 or F64 tensor.
func at(t *tensor.Tensor, i int) float64 {
	switch t.Type {
	case dtype.F64:
		return t.F64()[i]
	case dtype.BF16:
		return float64(dtype.FromBF16(t.BF16()[i]))
	}
	return float64(t.F32()[i])
}

func softplus(x float64) float64 {
	if x > 30 {
		return x
	}
	return math.Log1p(math.Exp(x))
}
