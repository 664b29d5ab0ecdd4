package taps

import (
	"fmt"
	"slices"

	"furlong/dtype"
	"furlong/kv"
	"furlong/model"
	"furlong/ops"
	"furlong/tensor"
)

// A Recorder gathers taps of sequences from the passes of an engine, whatever pieces these compute: chunks of prompts, single tokens, several sequences
// at a time. Its Watch goes into the engine's ops.Ctx, and Begin comes before each pass. One goroutine uses it. What goes wrong is kept for
// Err, since a watch can't fail; after that nothing more is recorded.
type Recorder struct {
	// Keep, if set, says which boundaries are recorded; nil records all.
	Keep func(layer int, name string) bool
	// Limit bounds the bytes of a set; 0 is no bound.
	Limit int

	rates []int // tokens that a window of each layer stands for; 0 without windows
	in    *ops.Tokens
	of    []*Set
	tails []int32 // rows of in that the end of the model computes; nil for all
	held  map[*Set]int
	err   error
}

// NewRecorder returns a recorder of passes of a model.
func NewRecorder(m model.Model) *Recorder {
	return &Recorder{rates: windows(m), held: map[*Set]int{}}
}

// windows returns how many tokens a window of each layer stands for.
func windows(m model.Model) []int {
	rates := make([]int, len(m.Layers()))
	for i, layer := range m.Layers() {
		for _, s := range layer {
			if s.Stream == kv.Compressed {
				rates[i] = s.Rate
			}
		}
	}
	return rates
}

// Begin says that a pass over in follows. Sequence number i of it is that of of[i]: nil for one that nobody wants. A set's tokens may be known
// before, or come with the passes.
func (r *Recorder) Begin(in *ops.Tokens, of ...*Set) {
	r.in, r.of, r.tails = in, of, nil
	if r.err != nil {
		return
	}
	in.Runs(func(seq int32, lo, hi int) {
		if s := r.set(seq); s != nil && r.err == nil {
			r.err = s.follow(in, lo, hi)
		}
	})
}

// Tails says that the end of the model, after the blocks, computes these rows of the pass only, ascending: it is to be said before each time that it runs.
func (r *Recorder) Tails(rows []int32) { r.tails = slices.Clone(rows) }

// Err returns the first thing that went wrong.
func (r *Recorder) Err() error { return r.err }

func (r *Recorder) set(seq int32) *Set {
	if int(seq) >= len(r.of) {
		return nil
	}
	return r.of[seq]
}

// follow holds tokens lo up to hi of a pass against those of the sequence, and takes what it did not know.
func (s *Set) follow(in *ops.Tokens, lo, hi int) error {
	for t := lo; t < hi; t++ {
		pos := int(in.Pos[t])
		switch {
		case t > lo && in.Pos[t] != in.Pos[t-1]+1:
			return fmt.Errorf("recorder: a pass has position %d after %d of one sequence, want them side by side", pos, in.Pos[t-1])
		case pos > len(s.Tokens):
			return fmt.Errorf("recorder: a pass begins at position %d of a sequence whose first %d tokens are known: give the set all tokens that a cache holds", pos, len(s.Tokens))
		case pos == len(s.Tokens):
			s.Tokens = append(s.Tokens, in.ID[t])
		case s.Tokens[pos] != in.ID[t]:
			return fmt.Errorf("recorder: a pass has token %d at position %d, the set has %d", in.ID[t], pos, s.Tokens[pos])
		}
	}
	return nil
}

// Watch records a result of the pass that Begin announced: see ops.Watch.
func (r *Recorder) Watch(layer int, name string, x *tensor.Tensor, choice []int32) {
	if r.err != nil || r.Keep != nil && !r.Keep(layer, name) {
		return
	}
	if err := r.watch(layer, name, x, choice); err != nil {
		r.err = fmt.Errorf("recorder: %s: %w", Title(layer, name), err)
	}
}

func (r *Recorder) watch(layer int, name string, x *tensor.Tensor, choice []int32) error {
	b, ok := BoundaryOf(name)
	switch {
	case !ok:
		return fmt.Errorf("is not known: it has no place in the order of computation")
	case r.in == nil:
		return fmt.Errorf("comes before a pass was announced by Begin")
	}
	at, err := r.rowsOf(layer, b)
	if err != nil || at.Len() == 0 {
		return err
	}
	shape, err := rowShape(b, at.Len(), x, choice)
	if err != nil {
		return err
	}
	piece := Tap{Layer: layer, Name: name, Rate: 1, Shape: shape}
	if b.rows == ofWindows {
		piece.Rate = r.rates[layer]
	}
	w := piece.Width()
	stretches(at, func(seq int32, lo, hi int) {
		if s := r.set(seq); s != nil && err == nil {
			piece := piece
			piece.First = int(at.Pos[lo])
			if choice != nil {
				piece.Choice = choice[lo*w : hi*w]
			} else {
				piece.Values = floats(x, lo*w, hi*w)
			}
			err = r.merge(s, &piece)
		}
	})
	return err
}

// rowsOf returns the tokens, or windows, that the rows of a result are of.
func (r *Recorder) rowsOf(layer int, b Boundary) (*ops.Tokens, error) {
	switch {
	case layer >= len(r.rates):
		return nil, fmt.Errorf("the model has %d layers", len(r.rates))
	case b.rows == ofWindows && r.rates[layer] == 0:
		return nil, fmt.Errorf("the layer has no windows")
	case b.rows == ofWindows:
		return r.in.Closed(int32(r.rates[layer])), nil
	case layer >= 0 || b.Name == Embed || r.tails == nil:
		return r.in, nil
	}
	at := &ops.Tokens{}
	for _, t := range r.tails {
		at.Seq, at.Pos = append(at.Seq, r.in.Seq[t]), append(at.Pos, r.in.Pos[t])
	}
	return at, nil
}

// stretches calls f for each run of rows of one sequence that lie side by side there.
func stretches(at *ops.Tokens, f func(seq int32, lo, hi int)) {
	at.Runs(func(seq int32, lo, hi int) {
		for from := lo; from < hi; {
			to := from + 1
			for to < hi && at.Pos[to] == at.Pos[to-1]+1 {
				to++
			}
			f(seq, from, to)
			from = to
		}
	})
}

// rowShape returns the shape of one of n rows.
func rowShape(b Boundary, n int, x *tensor.Tensor, choice []int32) ([]int, error) {
	if x == nil {
		if len(choice)%n != 0 {
			return nil, fmt.Errorf("has %d choices for %d rows", len(choice), n)
		}
		return []int{len(choice) / n}, nil
	}
	got := x.Shape[0]
	switch {
	case b.rows == ofSlots && got > n && got%n == 0: // a token's slots lie end to end
		return append([]int{got / n}, x.Shape[1:]...), nil
	case b.rows == ofSlots && got == n && len(x.Shape) == 2 && slotAxes(b) == 2: // of one expert a token
		return []int{1, x.Shape[1]}, nil
	case got != n:
		return nil, fmt.Errorf("has %d rows, want %d; if only some were computed, say which by Tails", got, n)
	}
	return slices.Clone(x.Shape[1:]), nil
}

// Floats returns a copy of a tensor's elements as float32.
func Floats(x *tensor.Tensor) []float32 { return floats(x, 0, x.Len()) }

// floats returns a copy of elements lo up to hi as float32.
func floats(x *tensor.Tensor, lo, hi int) []float32 {
	if x.Type == dtype.F64 {
		out := make([]float32, hi-lo)
		for i, v := range x.F64()[lo:hi] {
			out[i] = float32(v)
		}
		return out
	}
	return slices.Clone(x.F32()[lo:hi])
}

// merge adds a piece's rows to the tap that is there: behind it, over rows that were computed before, or both. The rows must not leave a hole.
func (r *Recorder) merge(s *Set, piece *Tap) error {
	t := s.taps[piece.place()]
	if t == nil {
		t = &Tap{Layer: piece.Layer, Name: piece.Name, Rate: piece.Rate, Shape: piece.Shape, First: piece.First}
	}
	before := t.bytes()
	if err := t.merge(piece); err != nil {
		return err
	}
	s.taps[t.place()] = t
	r.held[s] += t.bytes() - before
	if r.Limit > 0 && r.held[s] > r.Limit {
		return fmt.Errorf("the taps of a sequence of %d tokens take more than %d bytes: record fewer layers or names, or raise the limit", len(s.Tokens), r.Limit)
	}
	return nil
}

func (t *Tap) merge(piece *Tap) error {
	end, w := t.First+t.Rows(), t.Width()
	switch {
	case !slices.Equal(t.Shape, piece.Shape):
		return fmt.Errorf("rows are %v, those of an earlier pass %v", piece.Shape, t.Shape)
	case t.Rows() == 0:
		t.First = piece.First
	case piece.First > end || piece.First+piece.Rows() < t.First:
		return fmt.Errorf("rows begin at %d, those of earlier passes are %d up to %d: rows between them were never computed", piece.First, t.First, end)
	}
	if piece.First < t.First {
		gap := (t.First - piece.First) * w
		t.First = piece.First
		t.Values, t.Choice = before(t.Values, piece.Values, gap), before(t.Choice, piece.Choice, gap)
	}
	at := (piece.First - t.First) * w
	t.Values, t.Choice = over(t.Values, piece.Values, at), over(t.Choice, piece.Choice, at)
	return nil
}

// before returns n elements of space, then x; of a kind that the piece has.
func before[E any](x, piece []E, n int) []E {
	if piece == nil {
		return x
	}
	return append(make([]E, n, n+len(x)), x...)
}

// over writes y over x from element at on, and behind its end.
func over[E any](x, y []E, at int) []E {
	n := copy(x[min(at, len(x)):], y)
	return append(x, y[n:]...)
}

// Finite reports whether v is a number.
func finite(v float32) bool { return v-v == 0 } // what is no number differs from itself
