package data

import (
	"encoding/json"
	"fmt"
)

// state is a Source on paper.
type state struct {
	Seed    uint64      `json:"seed"`
	Shuffle bool        `json:"shuffle"`
	Group   int64       `json:"group"`
	Last    int         `json:"last"`
	Files   []fileState `json:"files"`
}

// fileState is one file of it.
type fileState struct {
	Name    string  `json:"name"`
	Digest  string  `json:"digest"` // of the prompts
	Prompts int     `json:"prompts"`
	Weight  float64 `json:"weight"`
	place
}

// State returns what Restore needs to go on at this place.
func (s *Source) State() ([]byte, error) {
	st := state{Seed: s.seed, Shuffle: s.shuffle, Group: s.group, Last: s.last}
	for _, f := range s.streams {
		st.Files = append(st.Files, fileState{f.file.part.name, f.file.digest, len(f.file.entries), f.weight, f.place})
	}
	return json.Marshal(st)
}

// Restore goes on at the place of a state. It refuses a state of other prompts, of another seed, order or mix, and then
// stays where it is.
func (s *Source) Restore(b []byte) error {
	var st state
	err := json.Unmarshal(b, &st)
	if err == nil {
		err = s.accepts(st)
	}
	if err != nil {
		return fmt.Errorf("%s: state: %w", s.set.Report().File, err)
	}
	p := places{group: st.Group, last: st.Last}
	for _, f := range st.Files {
		p.streams = append(p.streams, f.place)
	}
	s.goTo(p)
	return nil
}

// accepts reports why st is not a state of this source.
func (s *Source) accepts(st state) error {
	if len(st.Files) != len(s.streams) {
		return fmt.Errorf("files are %d, want %d: --prompt-data has changed", len(st.Files), len(s.streams))
	}
	if st.Seed != s.seed || st.Shuffle != s.shuffle {
		return fmt.Errorf("seed is %d, shuffle %t, want %d, %t", st.Seed, st.Shuffle, s.seed, s.shuffle)
	}
	drawn := int64(0)
	for i, f := range st.Files {
		if err := s.streams[i].accepts(f); err != nil {
			return err
		}
		drawn += f.Drawn
	}
	if st.Group != drawn || st.Last < 0 || st.Last >= len(st.Files) {
		return fmt.Errorf("place is after %d prompts, the last of file %d, want %d, and file 0 to %d", st.Group, st.Last, drawn, len(st.Files)-1)
	}
	return nil
}

func (st *stream) accepts(f fileState) error {
	n := len(st.file.entries)
	switch {
	case f.Name != st.file.part.name || f.Weight != st.weight && f.Prompts == n:
		return fmt.Errorf("file is %s with weight %v, want %s with weight %v: --prompt-data has changed", f.Name, f.Weight, st.file.part.name, st.weight)
	case f.Digest != st.file.digest:
		return fmt.Errorf("%s had %d prompts with digest %.16s, and has %d with %.16s now: the file or its filters have changed; put the old ones back, or begin a new run",
			st.file.part.path, f.Prompts, f.Digest, n, st.file.digest)
	case f.Epoch < 0 || f.Place < 0 || f.Place > n || f.Drawn < int64(f.Place):
		return fmt.Errorf("place is %d of epoch %d after %d prompts, want 0 to %d", f.Place, f.Epoch, f.Drawn, n)
	case f.Drawn != int64(f.Epoch)*int64(n)+int64(f.Place):
		return fmt.Errorf("place is %d of epoch %d after %d prompts, want %d", f.Place, f.Epoch, f.Drawn, int64(f.Epoch)*int64(n)+int64(f.Place))
	}
	return nil
}
