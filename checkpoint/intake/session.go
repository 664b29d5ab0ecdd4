package intake

import (
	"errors"
	"fmt"
	"slices"

	"furlong/checkpoint"
	"furlong/checkpoint/hf"
	"furlong/dtype"
	"furlong/rl"
	"furlong/tensor"
)

// Options say what a session lets pass.
type Options struct {
	Strict bool // a tensor that has no place in the model is refused; else it is counted and left out
}

// A Session takes up tensors for one version: Put (or one of the other sources) as often as there are buckets, then End, or nothing more. It is a
// state machine: the same calls have the same answers. One goroutine uses it at a time.
type Session struct {
	m      *Model
	opt    Options
	held   []*held // of each parameter; nil as long as nothing came
	report Report
	spoilt error // why the session cannot end well any more
	ended  bool
}

// held is what came of a parameter.
type held struct {
	value *tensor.Tensor
	coded *tensor.Tensor // the same in codes, until the end
	got   []got
}

// got is what came of one tensor of a parameter.
type got uint8

const (
	numbers got = 1 << iota
	codes
	scales
)

// whole reports whether it can be used.
func (g got) whole() bool { return g == numbers || g == codes|scales }

// twice are what of g comes again with x.
func (g got) twice(x got) bool { return g&x != 0 || x != scales && g&(numbers|codes) != 0 }

// mixes reports whether x says in another way what g says.
func (g got) mixes(x got) bool {
	if x == numbers {
		return g&(codes|scales) != 0
	}
	return g&numbers != 0
}

// Begin opens a session.
func (m *Model) Begin(o Options) *Session {
	return &Session{m: m, opt: o, held: make([]*held, len(m.specs))}
}

var errEnded = errors.New("the session has ended")

// Put takes up a bucket of whole tensors, whose bytes it copies. All that is wrong with what the tensors say of themselves is found before a byte is
// looked at. After an error the session is spoilt: it answers everything with that error.
func (s *Session) Put(bucket []rl.Tensor) error {
	return s.guard(func() error {
		slots, err := s.announce(entries(bucket))
		if err != nil {
			return err
		}
		for i, t := range bucket {
			if slots[i] == nil {
				continue
			}
			if err := s.take(slots[i], t.Data); err != nil {
				return err
			}
		}
		return nil
	})
}

// guard runs a part of the session unless it has ended or is spoilt, and remembers its error.
func (s *Session) guard(f func() error) error {
	switch {
	case s.ended:
		return errEnded
	case s.spoilt != nil:
		return fmt.Errorf("an earlier bucket was refused: %w", s.spoilt)
	}
	s.spoilt = f()
	return s.spoilt
}

// entries returns what the tensors of a bucket say of themselves, or what is wrong with it.
func entries(bucket []rl.Tensor) (out []checkpoint.Entry, err error) {
	var errs []error
	for _, t := range bucket {
		e, err := entry(t.Name, t.Type, t.Shape, len(t.Data))
		errs = append(errs, err)
		out = append(out, e)
	}
	return out, checkpoint.Join(errs)
}

// maxElements is more than any tensor has, and few enough that sizes can be computed.
const maxElements = 1 << 50

// entry checks that a tensor has as many bytes as its format and shape say.
func entry(name, format string, shape []int, bytes int) (checkpoint.Entry, error) {
	want, err := size(name, format, shape)
	if err != nil {
		return checkpoint.Entry{}, err
	}
	t, _ := ParseType(format)
	e := checkpoint.Entry{Name: name, Info: checkpoint.Info{Type: t, Shape: shape}}
	if bytes != want {
		return e, fmt.Errorf("tensor %.200q: has %d bytes, want %d for %v", name, bytes, want, e.Info)
	}
	return e, nil
}

// size returns the bytes of a tensor, or what is wrong with what is said of it.
func size(name, format string, shape []int) (int, error) {
	t, ok := ParseType(format)
	if !ok {
		return 0, fmt.Errorf("tensor %.200q: dtype is %.50q, which is none", name, format)
	}
	n := 1
	for _, axis := range shape {
		if axis < 0 || axis > 0 && n > maxElements/axis {
			return 0, fmt.Errorf("tensor %.200q: shape is %.100s, which nothing can have", name, fmt.Sprint(shape))
		}
		n *= axis
	}
	return t.Bytes(n), nil
}

// Check says what is wrong with tensors that are yet to come, as [Session.Put] would. It changes nothing, so it may be asked before their bytes exist.
func (s *Session) Check(list []Flat) error {
	if s.ended {
		return errEnded
	}
	try := &Session{m: s.m, opt: s.opt, held: make([]*held, len(s.held))}
	for i, h := range s.held {
		if h != nil {
			try.held[i] = &held{got: slices.Clone(h.got)}
		}
	}
	var bucket []checkpoint.Entry
	for _, f := range list {
		t, ok := ParseType(f.Type)
		if !ok {
			return fmt.Errorf("tensor %.200q: dtype is %.50q, which is none", f.Name, f.Type)
		}
		bucket = append(bucket, checkpoint.Entry{Name: f.Name, Info: checkpoint.Info{Type: t, Shape: f.Shape}})
	}
	_, err := try.announce(bucket, nil)
	return err
}

// announce finds the places of tensors that will come: nil for those that have none. Their places are taken from now on.
func (s *Session) announce(bucket []checkpoint.Entry, err error) ([]*slot, error) {
	if err != nil {
		return nil, err
	}
	slots, errs := make([]*slot, len(bucket)), []error(nil)
	for i, e := range bucket {
		var err error
		slots[i], err = s.slot(e)
		errs = append(errs, err)
	}
	return slots, checkpoint.Join(errs)
}

// slot finds the place of one tensor.
func (s *Session) slot(e checkpoint.Entry) (*slot, error) {
	t, ok := find(e.Name)
	i, known := s.m.byName[t.Param]
	if !ok || !known {
		return nil, s.stranger(e)
	}
	p := s.m.specs[i]
	lo, hi, piece, err := p.at(t.Place)
	if err != nil {
		return nil, fmt.Errorf("tensor %q: %w", e.Name, err)
	}
	sl := &slot{Entry: e, spec: p, piece: piece, scale: t.scale}
	if p.coded != nil && (t.scale || e.Type == dtype.E4M3) {
		sl.spec = p.coded
	}
	if err := sl.fit(); err != nil {
		return nil, err
	}
	if s.held[i] == nil {
		s.held[i] = &held{got: make([]got, len(p.pieces))}
	}
	return sl, s.held[i].claim(sl, lo, hi)
}

// claim notes that a tensor comes, which nothing may contradict that came before.
func (h *held) claim(s *slot, lo, hi int) error {
	x := s.brings()
	for i, g := range h.got {
		in := lo <= i && i < hi
		switch {
		case in && g.twice(x):
			return s.bad("comes twice, as %s", s.spec.pieces[i].Name)
		case g.mixes(x):
			return s.bad("is %v, but %s came in another format: they are of two checkpoints", s.Type, s.spec.pieces[i].Name)
		case in:
			h.got[i] |= x
		}
	}
	return nil
}

// stranger counts a tensor that the model has no place for, or refuses it.
func (s *Session) stranger(e checkpoint.Entry) error {
	if hf.IsDraft(e.Name, s.m.layers) {
		s.report.Aside++
		return nil
	}
	if s.opt.Strict {
		return fmt.Errorf("tensor %.200q: is %v, which the model has no place for", e.Name, e.Info)
	}
	s.report.unknown(e.Name)
	return nil
}

// take puts the bytes of a tensor into its place.
func (s *Session) take(sl *slot, data []byte) error {
	v := s.value(sl)
	if to := sl.direct(v); to != nil {
		copy(to, data)
	} else if err := sl.change(v, data, s.m.experts); err != nil {
		return err
	}
	return s.settle(sl)
}

// value returns the memory of a slot's parameter.
func (s *Session) value(sl *slot) *tensor.Tensor {
	i := s.m.byName[sl.spec.Name]
	to := &s.held[i].value
	if sl.spec != s.m.specs[i] {
		to = &s.held[i].coded
	}
	if *to == nil {
		*to = sl.spec.blank()
	}
	return *to
}

// settle looks at what has arrived, and counts it.
func (s *Session) settle(sl *slot) error {
	if err := sl.check(s.value(sl), s.m.experts); err != nil {
		return err
	}
	s.report.Tensors++
	s.report.Bytes += sl.Bytes()
	s.report.Ways[sl.way]++
	return nil
}

// Abort ends the session and gives back its memory.
func (s *Session) Abort() {
	s.ended, s.held = true, nil
}

// Report says what came so far.
func (s *Session) Report() Report { return s.report }
