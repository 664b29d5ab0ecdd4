package taps

import (
	"fmt"
	"runtime/debug"
	"slices"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kv"
	"furlong/model"
	"furlong/ops"
	"furlong/tensor"
)

// A Judge is a model of ours that others are held against, and all that its passes depend on.
type Judge struct {
	Model   model.Model // its weights must be prepared for Backend
	Backend kernels.Backend
	Type    dtype.Type // of activations: F64 with the float64 reference; the zero Type is F32
	FP8     bool       // attention state is kept as an FP8 cache keeps it

	// Mem, if set, is where passes take memory from, so that the next one need not ask for it; one goroutine then uses the judge.
	Mem *tensor.Arena

	// Store, if set, makes the store of a layer from the one that it would have: for mistakes in what is kept, or seen of it.
	Store func(layer int, s kv.Store) kv.Store
}

// Force runs the judge over the set's tokens with the recorded values in place of its own, boundary by boundary, and returns what each op made of them otherwise,
// in order of computation. What the set lacks is left as the judge computed it.
func Force(j Judge, s *Set) ([]Diff, error) {
	return force(j, s, 0, len(j.Model.Layers()), true)
}

// ForceLayer is Force for one block alone, from the streams that were recorded before it; -1 is what lies outside the blocks. Where these are not there
// from the first token on, the blocks below run first.
func ForceLayer(j Judge, s *Set, layer int) ([]Diff, error) {
	n := len(j.Model.Layers())
	if layer < -1 || layer >= n {
		return nil, fmt.Errorf("layer %d: the judge has %d", layer, n)
	}
	from, to := layer, layer+1
	if layer < 0 {
		from, to = n, n
	}
	for from > 0 && !s.whole(from-1) {
		from--
	}
	all, err := force(j, s, from, to, layer < 0)
	return slices.DeleteFunc(all, func(d Diff) bool { return d.Layer != layer }), err
}

// whole reports whether the streams that leave a layer are there for all tokens.
func (s *Set) whole(layer int) bool {
	t := s.Find(layer, "streams")
	return t != nil && t.First == 0 && t.Rows() == len(s.Tokens) && len(t.Shape) == 2
}

// A forced pass.
type forced struct {
	j     Judge
	s     *Set
	c     *ops.Ctx
	in    *ops.Tokens
	rates []int

	wide    int                       // elements of all streams of a token
	seen    map[string]*tensor.Tensor // of this layer
	shown   map[place]bool
	missing map[place]bool // seen, but not recorded, or not to be put in the judge's place
	diffs   []Diff
	last    string // boundary that was shown last
}

func force(j Judge, s *Set, from, to int, ends bool) (diffs []Diff, err error) {
	if err := j.accepts(s); err != nil {
		return nil, err
	}
	if j.Type == dtype.Invalid {
		j.Type = dtype.F32
	}
	f := &forced{j: j, s: s, in: sequence(s.Tokens), rates: windows(j.Model), missing: map[place]bool{}, shown: map[place]bool{}, seen: map[string]*tensor.Tensor{}}
	if j.Mem == nil {
		j.Mem = &tensor.Arena{}
	}
	j.Mem.Reset()
	f.c = ops.NewCtx(j.Backend, j.Mem, j.Type)
	f.c.Watch = f.watch
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("judge: after %q: %v\n%s", f.last, r, debug.Stack())
		}
	}()
	if ends && from > 0 {
		f.j.Model.Embed(f.c, f.in)
	}
	x := f.enter(from)
	for i := from; i < to; i++ {
		f.block(i, x)
	}
	if ends {
		f.end(x)
	}
	f.absent(from, to)
	return f.diffs, nil
}

// absent reports what was recorded in the layers that ran, and that the judge does not compute.
func (f *forced) absent(from, to int) {
	for _, t := range f.s.Taps() {
		if t.Layer < from || t.Layer >= to || f.shown[t.place()] {
			continue
		}
		f.diffs = append(f.diffs, Diff{Layer: t.Layer, Name: t.Name, First: t.First, Rate: 1, At: -1, Problem: "the judge computes nothing there: its layer is of another kind"})
	}
	slices.SortStableFunc(f.diffs, func(a, b Diff) int { return place{a.Layer, a.Name}.compare(place{b.Layer, b.Name}) })
}

// accepts reports why the judge can't run over the tokens.
func (j Judge) accepts(s *Set) error {
	if len(s.Tokens) == 0 {
		return fmt.Errorf("the set has no tokens")
	}
	for i, id := range s.Tokens {
		if id < 0 || int(id) >= j.Model.Vocab() {
			return fmt.Errorf("token %d at position %d: the judge knows %d", id, i, j.Model.Vocab())
		}
	}
	for _, t := range s.Taps() {
		if t.Layer >= len(j.Model.Layers()) {
			return fmt.Errorf("tap %s: the judge has %d layers", t.Title(), len(j.Model.Layers()))
		}
	}
	return nil
}

// sequence returns ids as the tokens of one sequence.
func sequence(ids []int32) *ops.Tokens {
	in := &ops.Tokens{ID: ids, Seq: make([]int32, len(ids)), Pos: make([]int32, len(ids))}
	for i := range ids {
		in.Pos[i] = int32(i)
	}
	return in
}

// enter returns the streams that enter block number from: the embedding's, or what was recorded before it.
func (f *forced) enter(from int) *tensor.Tensor {
	if from == 0 {
		return f.j.Model.Embed(f.c, f.in)
	}
	t := f.s.Find(from-1, "streams")
	x := f.c.New(append([]int{t.Rows()}, t.Shape...)...)
	put(x, 0, t.Values, t.Width())
	return x
}

// block runs a block on x, in x's memory, and gives back what it took besides.
func (f *forced) block(i int, x *tensor.Tensor) {
	m := f.c.Mem.Mark()
	defer f.c.Mem.Release(m)
	clear(f.seen)
	f.wide = x.Len() / x.Shape[0]
	st := f.j.StoreOf(i)
	f.c.K.Copy(x, f.j.Model.Block(f.c, i, f.in, st, ops.StreamsOf(x)).Tensor(f.c))
}

// StoreOf returns a fresh store of a layer for a pass over whole sequences.
func (j Judge) StoreOf(layer int) kv.Store {
	st := &kv.InPlace{}
	if j.FP8 {
		st.Keep = kv.FP8(j.Backend, j.Model.Layers()[layer])
	}
	if j.Store != nil {
		return j.Store(layer, st)
	}
	return st
}

// end runs what follows the blocks, if anything of it was recorded.
func (f *forced) end(x *tensor.Tensor) {
	wanted := false
	for _, name := range []string{HCHead, FinalNorm, Logits, LogProb} {
		wanted = wanted || f.s.Find(-1, name) != nil
	}
	if !wanted {
		return
	}
	clear(f.seen)
	h := f.j.Model.Final(f.c, x)
	if f.s.Find(-1, Logits) != nil || f.s.Find(-1, LogProb) != nil {
		f.head(h)
	}
}

// watch compares what the judge made with what was recorded, and writes that over it.
func (f *forced) watch(layer int, name string, x *tensor.Tensor, choice []int32) {
	f.last = Title(layer, name)
	b, ok := BoundaryOf(name)
	if !ok {
		panic(fmt.Sprintf("boundary %s has no place in the order of computation", f.last))
	}
	f.seen[name], f.shown[place{layer, name}] = x, true
	t := f.s.Find(layer, name)
	if t == nil {
		f.missing[place{layer, name}] = true
		return
	}
	d := Diff{Layer: layer, Name: name, First: t.First, Rate: 1, At: -1, Spans: f.spans(layer, b)}
	if b.rows == ofWindows {
		d.Rate = f.rates[layer]
	}
	if b.Choice {
		f.choose(&d, t, choice)
	} else {
		f.compare(&d, t, b, x)
	}
	if d.Problem != "" || d.Skipped != "" {
		f.missing[place{layer, name}] = true
	}
	f.diffs = append(f.diffs, d)
}

// compare compares and replaces rows of numbers.
func (f *forced) compare(d *Diff, t *Tap, b Boundary, x *tensor.Tensor) {
	n := x.Len() / max(1, t.Width()) // rows of the judge, as wide as the tap's
	if want := f.rows(d, b); x.Len() != want*t.Width() {
		d.Problem = fmt.Sprintf("rows are %d wide, the judge's %d", t.Width(), x.Len()/max(1, want))
		return
	}
	if t.First+t.Rows() > n {
		d.Problem = fmt.Sprintf("has rows up to %d, the judge %d", t.First+t.Rows(), n)
		return
	}
	if b.rows == ofSlots && f.unaligned(d.Layer) {
		d.Skipped = "slots can't be told apart: the choice of experts was not recorded, or is impossible"
		return
	}
	w := t.Width()
	d.Terms = f.terms(d.Layer, b)
	d.see(floats(x, t.First*w, (t.First+t.Rows())*w), t.Values, w, false)
	put(x, t.First, t.Values, w)
}

// rows returns how many rows the judge has at a boundary.
func (f *forced) rows(d *Diff, b Boundary) int {
	if b.rows == ofWindows {
		return f.in.Closed(int32(d.Rate)).Len()
	}
	return f.in.Len()
}

// unaligned reports whether the judge's slots may be others than the recorded ones.
func (f *forced) unaligned(layer int) bool {
	return f.missing[place{layer, "router_indices"}]
}

// terms returns about how many terms the longest sum has that makes an element of a boundary.
func (f *forced) terms(layer int, b Boundary) int {
	switch b.Kind {
	case Product:
		name := b.Weight
		if layer >= 0 {
			name = fmt.Sprintf("model.layers.%d.%s", layer, name)
		}
		if w := f.param(name); w != nil {
			return w.Dim()
		}
	case Maps:
		return f.wide
	case Mix:
		if b.rows == ofWindows {
			return 2 * f.rates[layer]
		}
		return f.dim("kv") + f.in.Len()
	case Choose:
		return max(1, f.dim("index_keys"))
	case Norm:
		return f.dim(b.Reads[0])
	}
	return 1
}

// dim returns the width of what was seen in this layer under a name, 1 where nothing was.
func (f *forced) dim(name string) int {
	if x := f.seen[name]; x != nil {
		return x.Dim()
	}
	return 1
}

// putRow writes a row over elements of x from number at on.
func putRow(x *tensor.Tensor, at int, row []float32) {
	if x.Type != dtype.F64 {
		copy(x.F32()[at:], row)
		return
	}
	for i, v := range row {
		x.F64()[at+i] = float64(v)
	}
}
