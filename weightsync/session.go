package weightsync

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"furlong/rl"
)

// A Session puts one version together. Begin, Put as often as there are buckets, End. It is a state machine: it reads no clock, and the same
// calls have the same answers. A chunk that is refused changes nothing; the sender may try again.
type Session struct {
	man  *Manifest
	into []Tensor // where the bytes go, as the manifest has them in order
	base []Tensor // what a delta builds on, in the same order; nil otherwise
	at   map[string]int
	got  []spans
	ends []bool // the tensor came as one chunk, whose digest was the tensor's
	seen Follower

	dup   int // chunks that came again
	chunk int // chunks that came
	ended bool
}

// Held is what a receiver has already: the version it serves, and the digest of its weights. The zero Held is none.
type Held struct {
	Version rl.Version
	State   rl.Digest
	Tensors []Tensor // in the order of the session's
}

// Begin opens a session for the version of an encoded manifest. The bytes go into the tensors of into, which nobody reads before a good
// End. The manifest must list exactly these tensors in these formats; a delta's base must be what is held.
func Begin(manifest []byte, into []Tensor, held Held) (*Session, error) {
	m, err := ParseManifest(manifest)
	if err != nil {
		return nil, err
	}
	s := &Session{man: m, at: make(map[string]int, len(m.Tensors)), got: make([]spans, len(m.Tensors)), ends: make([]bool, len(m.Tensors))}
	for i := range m.Tensors {
		s.at[m.Tensors[i].Name] = i
	}
	if err := s.match(into); err != nil {
		return nil, err
	}
	if err := s.found(held, into); err != nil {
		return nil, err
	}
	return s, nil
}

// A Follower is told how many bytes of a tensor are there, from the first on: n rises from 0, and is all of them only when the tensor's digest
// is the manifest's. It falls back to 0 when a chunk was damaged and comes again. The bytes stay as they are meanwhile. Calls for one tensor come one
// after the other, for several at once.
type Follower func(name string, n int)

// Follow makes f follow all that comes from now on.
func (s *Session) Follow(f Follower) { s.seen = f }

// match lays out into in the manifest's order, and names every difference between the two.
func (s *Session) match(into []Tensor) error {
	var wrong []string
	s.into = make([]Tensor, len(s.man.Tensors))
	wanted := make(map[string]bool, len(into))
	for _, t := range into {
		wanted[t.Name] = true
		i, ok := s.at[t.Name]
		if !ok {
			wrong = append(wrong, t.Name+" is not in the manifest")
			continue
		}
		if d := s.man.Tensors[i].Info.differs(t.Info); d != "" {
			wrong = append(wrong, t.Name+": "+d)
			continue
		}
		s.into[i] = t
	}
	for name := range s.at {
		if !wanted[name] {
			wrong = append(wrong, name+" is no tensor of this model")
		}
	}
	if err := several(wrong); err != nil {
		return err
	}
	return s.matchRest(into)
}

// matchRest compares what is said of all tensors together.
func (s *Session) matchRest(into []Tensor) error {
	if want := Recipe(into); s.man.Recipe != want {
		return fmt.Errorf("manifest: recipe is %q, want %q", s.man.Recipe, want)
	}
	mine, theirs := company(Groups(into)), company(s.man.Groups)
	for _, t := range into {
		if got, want := theirs[t.Name], mine[t.Name]; got != want {
			return fmt.Errorf("%s: becomes visible together with [%s], want [%s]", t.Name, got, want)
		}
	}
	return nil
}

// company returns the members of each tensor's group, in one order.
func company(groups [][]string) map[string]string {
	of := map[string]string{}
	for _, g := range groups {
		all := strings.Join(slices.Sorted(slices.Values(g)), " ")
		for _, name := range g {
			of[name] = all
		}
	}
	return of
}

// found makes sure that a delta's base is there, and lays it under what will come.
func (s *Session) found(held Held, into []Tensor) error {
	b := s.man.Base
	if b == nil {
		return nil
	}
	if held.Version == 0 || held.State != b.State {
		return fmt.Errorf("delta: it builds on version %v (%v), but version %v (%v) is held: a version between is missing", b.Version, b.State, held.Version, held.State)
	}
	s.base = make([]Tensor, len(s.man.Tensors))
	for k, t := range held.Tensors {
		s.base[s.at[into[k].Name]] = t
	}
	each(len(s.into), func(i int) {
		if e := &s.man.Tensors[i]; e.sent() < e.Bytes {
			copy(s.into[i].Mem, s.base[i].Mem)
		}
	})
	return nil
}

// A piece is a chunk that fits: bytes that go into tensor i.
type piece struct {
	rl.Chunk
	i    int
	at   span
	have []span // parts that came before
	not  []span
	err  error
}

// Put places the chunks of a bucket. Each must be of the version and of a tensor as the manifest lists it, lie within it, and have the digest it
// says. One that came before is no error if it is the same. Of a bucket with an error the other chunks are placed.
func (s *Session) Put(bucket []rl.Chunk) error {
	if s.ended {
		return fmt.Errorf("session: a bucket comes after the end")
	}
	var fresh, again []*piece
	var first error
	for _, c := range bucket {
		p, err := s.fit(c)
		if err != nil {
			first = cmp.Or(first, err)
			continue
		}
		p.have, p.not = s.got[p.i].cut(p.at)
		if len(p.have) > 0 || p.at.lo == p.at.hi {
			again = append(again, p)
			continue
		}
		fresh = append(fresh, p)
		s.got[p.i] = s.got[p.i].add(p.at)
	}
	each(len(fresh), func(k int) { s.place(fresh[k]) })
	first = cmp.Or(first, s.settle(fresh))
	for _, p := range again {
		first = cmp.Or(first, s.compare(p))
	}
	return first
}

// fit checks what a chunk says of itself.
func (s *Session) fit(c rl.Chunk) (*piece, error) {
	i, ok := s.at[c.Name]
	if !ok {
		return nil, fmt.Errorf("%.100s is not in the manifest", c.Name)
	}
	e := &s.man.Tensors[i]
	if d := (Info{Name: c.Name, Type: c.Type, Shape: c.Shape}).differs(Info{Type: e.Type, Shape: e.Shape}); d != "" {
		return nil, fmt.Errorf("%s: a chunk's %s", c.Name, d)
	}
	switch {
	case c.Version != s.man.Version:
		return nil, fmt.Errorf("%s: a chunk is of version %v, want %v", c.Name, c.Version, s.man.Version)
	case c.Offset < 0 || c.Offset > e.Bytes || len(c.Data) > e.Bytes-c.Offset:
		return nil, fmt.Errorf("%s: a chunk of %d bytes lies at %d, want it within %d", c.Name, len(c.Data), c.Offset, e.Bytes)
	}
	return &piece{Chunk: c, i: i, at: span{c.Offset, c.Offset + len(c.Data)}}, nil
}

// place copies bytes that nobody has sent yet, and looks at what has arrived, bit by bit, while it lies in the processor's cache.
func (s *Session) place(p *piece) {
	to := s.into[p.i].Mem[p.at.lo:p.at.hi]
	e := &s.man.Tensors[p.i]
	whole := len(to) == e.Bytes && p.Digest == e.Digest
	var h Hasher
	for lo := 0; lo < len(to); {
		if whole {
			s.tell(p.i, lo)
		}
		hi := min(lo+nearBytes, len(to))
		copy(to[lo:hi], p.Data[lo:hi])
		h.Write(to[lo:hi])
		lo = hi
	}
	if p.err = p.damage(h.Sum()); p.err == nil && whole {
		s.tell(p.i, e.Bytes)
	}
}

// nearBytes are few enough that they, and what is made of them, stay in a core's own cache.
const nearBytes = 1 << 16

// tell tells the follower that the first n bytes of tensor i are there.
func (s *Session) tell(i, n int) {
	if s.seen != nil {
		s.seen(s.man.Tensors[i].Name, n)
	}
}

func (p *piece) damage(got rl.Digest) error {
	if got == p.Digest {
		return nil
	}
	return fmt.Errorf("%s: digest of bytes %d up to %d is %v, want %v", p.Name, p.at.lo, p.at.hi, got, p.Digest)
}

// settle takes back the room of chunks that were damaged, and returns the first one's error.
func (s *Session) settle(fresh []*piece) (err error) {
	for _, p := range fresh {
		if p.err != nil {
			s.got[p.i] = s.got[p.i].remove(p.at)
			err = cmp.Or(err, p.err)
			continue
		}
		s.chunk++
		s.ends[p.i] = p.at == span{0, s.man.Tensors[p.i].Bytes} && p.Digest == s.man.Tensors[p.i].Digest
	}
	return err
}

// compare handles a chunk of which something came before: what is there must be equal.
func (s *Session) compare(p *piece) error {
	if err := p.damage(Digest(p.Data)); err != nil {
		return err
	}
	mem := s.into[p.i].Mem
	p.have, p.not = s.got[p.i].cut(p.at) // others of the bucket may have been refused
	for _, x := range p.have {
		if !bytes.Equal(mem[x.lo:x.hi], p.Data[x.lo-p.at.lo:x.hi-p.at.lo]) {
			return fmt.Errorf("%s: bytes %d up to %d came before, and differ", p.Name, x.lo, x.hi)
		}
	}
	for _, x := range p.not {
		copy(mem[x.lo:x.hi], p.Data[x.lo-p.at.lo:x.hi-p.at.lo])
		s.got[p.i] = s.got[p.i].add(x)
	}
	s.dup++
	return nil
}

// End closes the session. It fails if bytes are missing, or a tensor is not the manifest's.
func (s *Session) End() error {
	s.ended = true
	if err := s.complete(); err != nil {
		return err
	}
	wrong := make([]string, len(s.into))
	each(len(s.into), func(i int) {
		if s.ends[i] {
			return
		}
		if got, want := Digest(s.into[i].Mem), s.man.Tensors[i].Digest; got != want {
			wrong[i] = fmt.Sprintf("%s: digest is %v, want %v", s.into[i].Name, got, want)
			return
		}
		s.tell(i, s.man.Tensors[i].Bytes)
	})
	var all []string
	for _, w := range wrong {
		if w != "" {
			all = append(all, w)
		}
	}
	return several(all)
}

// complete names tensors that are not all there, and whose company they should have.
func (s *Session) complete() error {
	var open []string
	for i := range s.man.Tensors {
		e := &s.man.Tensors[i]
		if n := s.got[i].bytes(); n != e.sent() {
			open = append(open, fmt.Sprintf("%s (%d of %d bytes%s)", e.Name, n, e.sent(), s.partners(e.Name)))
		}
	}
	if len(open) == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d tensors did not come whole: %s", len(open), len(s.into), few(open))
}

// partners says with whom a tensor should have come.
func (s *Session) partners(name string) string {
	if all := company(s.man.Groups)[name]; all != "" {
		return ", one of " + all
	}
	return ""
}

// Missing says what has not come yet; nil if nothing is missing.
func (s *Session) Missing() error { return s.complete() }

// Manifest returns what the version consists of.
func (s *Session) Manifest() *Manifest { return s.man }

// Chunks returns how many chunks were placed, and how many of them had come before.
func (s *Session) Chunks() (placed, again int) { return s.chunk, s.dup }
