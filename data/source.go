package data

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"math/rand/v2"

	"furlong/rl"
)

// A Source hands out the prompts of a [Set], epoch after epoch: an [rl.PromptSource]. A call that reaches the end of an
// epoch goes on in the next, so that a batch may hold a prompt twice there. It is used by one goroutine.
type Source struct {
	set     *Set
	seed    uint64
	shuffle bool

	epoch int
	place int   // prompts of the epoch handed out, up to and including all of them
	group int64 // prompts handed out in the run
	order []int // the epoch's
}

// NewSource returns a source at the beginning of epoch 0. Epoch e is shuffled with seed + e, or not at all.
func NewSource(set *Set, seed uint64, shuffle bool) *Source {
	s := &Source{set: set, seed: seed, shuffle: shuffle}
	s.order = s.permutation()
	return s
}

// Next returns the next n prompts. Their Group counts on over epochs.
func (s *Source) Next(n int) ([]*rl.Prompt, error) {
	if n < 0 {
		return nil, fmt.Errorf("%s: %d prompts asked for, want 0 or more", s.set.report.File, n)
	}
	prompts := make([]*rl.Prompt, n)
	for i := range prompts {
		if s.place == len(s.order) {
			s.epoch, s.place = s.epoch+1, 0
			s.order = s.permutation()
		}
		prompts[i] = s.set.prompt(s.order[s.place], s.group)
		s.place++
		s.group++
	}
	return prompts, nil
}

// Epoch returns the epoch that the last prompt came from.
func (s *Source) Epoch() int { return s.epoch }

// permutation returns the order of the current epoch, which depends on seed, epoch and the set's size alone.
func (s *Source) permutation() []int {
	order := make([]int, s.set.Len())
	for i := range order {
		order[i] = i
	}
	if !s.shuffle {
		return order
	}
	const use = 0x7065726d75746521 // "permute!": keeps these draws apart from others under the same seed
	r := rand.NewPCG(s.seed+uint64(s.epoch), use)
	for i := len(order) - 1; i > 0; i-- {
		hi, _ := bits.Mul64(r.Uint64(), uint64(i+1)) // 0..i; rand's own ranges may change with the release
		order[i], order[hi] = order[hi], order[i]
	}
	return order
}

// state is a Source on paper.
type state struct {
	Digest  string `json:"digest"` // of the set
	Seed    uint64 `json:"seed"`
	Shuffle bool   `json:"shuffle"`
	Epoch   int    `json:"epoch"`
	Place   int    `json:"place"`
	Group   int64  `json:"group"`
}

// State returns what Restore needs to go on at this place.
func (s *Source) State() ([]byte, error) {
	return json.Marshal(state{s.set.digest, s.seed, s.shuffle, s.epoch, s.place, s.group})
}

// Restore goes on at the place of a state. It refuses a state of other prompts, of another seed or order, and then stays
// where it is.
func (s *Source) Restore(b []byte) error {
	var st state
	if err := json.Unmarshal(b, &st); err != nil {
		return fmt.Errorf("%s: state: %w", s.set.report.File, err)
	}
	if err := s.accepts(st); err != nil {
		return fmt.Errorf("%s: state: %w", s.set.report.File, err)
	}
	s.epoch, s.place, s.group = st.Epoch, st.Place, st.Group
	s.order = s.permutation()
	return nil
}

// accepts reports why st is not a state of this source.
func (s *Source) accepts(st state) error {
	switch {
	case st.Digest != s.set.digest:
		return fmt.Errorf("prompts have digest %.16q, want %.16q: the file or its filters have changed", st.Digest, s.set.digest)
	case st.Seed != s.seed || st.Shuffle != s.shuffle:
		return fmt.Errorf("seed is %d, shuffle %t, want %d, %t", st.Seed, st.Shuffle, s.seed, s.shuffle)
	case st.Epoch < 0 || st.Place < 0 || st.Place > s.set.Len() || st.Group < 0:
		return fmt.Errorf("place is %d of epoch %d after %d prompts, want 0 to %d", st.Place, st.Epoch, st.Group, s.set.Len())
	}
	return nil
}
