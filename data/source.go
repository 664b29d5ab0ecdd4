package data

import (
	"fmt"
	"math/bits"
	"math/rand/v2"

	"furlong/rl"
)

// A Source hands out the prompts of a [Set], epoch after epoch: an [rl.PromptSource]. A call that reaches the end of an
// epoch goes on in the next, so that a batch may hold a prompt twice there. In a mix each file has epochs of its own. It
// is used by one goroutine.
type Source struct {
	set     *Set
	seed    uint64
	shuffle bool

	group   int64 // prompts handed out in the run
	last    int   // the file of the last one
	streams []*stream
}

// A stream is one file of a source.
type stream struct {
	file   *file
	which  uint64 // number of the file
	weight float64
	place
	order []uint32 // the epoch's; nil is the file's order
}

// A place is how far a stream has come.
type place struct {
	Epoch int   `json:"epoch"`
	Place int   `json:"place"` // prompts of the epoch handed out, up to and including all of them
	Drawn int64 `json:"drawn"` // prompts handed out in all
}

// NewSource returns a source at the beginning of epoch 0. Epoch e is shuffled with seed + e, or not at all.
func NewSource(set *Set, seed uint64, shuffle bool) *Source {
	s := &Source{set: set, seed: seed, shuffle: shuffle}
	for i, f := range set.files {
		weight := f.part.weight
		if weight == 0 {
			weight = float64(len(f.entries)) // each prompt as often as any other
		}
		st := &stream{file: f, which: uint64(i), weight: weight}
		st.order = s.permutation(st)
		s.streams = append(s.streams, st)
	}
	return s
}

// Next returns the next n prompts. Their Group counts on over epochs. After an error the source stands where it stood.
func (s *Source) Next(n int) ([]*rl.Prompt, error) {
	if n < 0 {
		return nil, fmt.Errorf("%s: %d prompts asked for, want 0 or more", s.set.Report().File, n)
	}
	before := s.places()
	prompts := make([]*rl.Prompt, n)
	for i := range prompts {
		var err error
		if prompts[i], err = s.one(); err != nil {
			s.goTo(before)
			return nil, err
		}
	}
	return prompts, nil
}

// one returns the next prompt.
func (s *Source) one() (*rl.Prompt, error) {
	s.last = s.turn()
	st := s.streams[s.last]
	if st.Place == len(st.file.entries) {
		st.Epoch, st.Place = st.Epoch+1, 0
		st.order = s.permutation(st)
	}
	i := st.Place
	if st.order != nil {
		i = int(st.order[i])
	}
	p, err := s.set.prompt(st.file, i, s.group, true)
	st.Place++
	st.Drawn++
	s.group++
	return p, err
}

// turn returns whose turn it is: the file that would be least ahead of its weight with one prompt more, the first of
// several. It depends on counts and weights alone, so a resumed source goes on as the unbroken one would.
func (s *Source) turn() int {
	best := 0
	for i, st := range s.streams {
		b := s.streams[best]
		if float64(st.Drawn+1)*b.weight < float64(b.Drawn+1)*st.weight {
			best = i
		}
	}
	return best
}

// Epoch returns the epoch that the last prompt came from, of its file.
func (s *Source) Epoch() int { return s.streams[s.last].Epoch }

// permutation returns the order of a stream's epoch, which depends on seed, epoch, the file's number and size alone.
func (s *Source) permutation(st *stream) []uint32 {
	if !s.shuffle {
		return nil
	}
	order := make([]uint32, len(st.file.entries))
	for i := range order {
		order[i] = uint32(i)
	}
	const use = 0x7065726d75746521 // "permute!": keeps these draws apart from others under the same seed
	r := rand.NewPCG(s.seed+uint64(st.Epoch), use+st.which)
	for i := len(order) - 1; i > 0; i-- {
		hi, _ := bits.Mul64(r.Uint64(), uint64(i+1)) // 0..i; rand's own ranges may change with the release
		order[i], order[hi] = order[hi], order[i]
	}
	return order
}

// places is where the streams of a source stand.
type places struct {
	group   int64
	last    int
	streams []place
}

func (s *Source) places() places {
	p := places{group: s.group, last: s.last}
	for _, st := range s.streams {
		p.streams = append(p.streams, st.place)
	}
	return p
}

func (s *Source) goTo(p places) {
	s.group, s.last = p.group, p.last
	for i, st := range s.streams {
		old := st.Epoch
		if st.place = p.streams[i]; st.Epoch != old {
			st.order = s.permutation(st)
		}
	}
}
