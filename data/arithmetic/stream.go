package arithmetic

import "fmt"

// A Stream draws problems without end, held-out ones among them.
type Stream struct {
	rand *Rand
}

// NewStream returns the problems of a seed.
func NewStream(seed uint64) *Stream { return &Stream{rand: newRand(seed, forProblems)} }

// Next returns the next problem. A draw with a running result out of range is thrown away whole, its length included.
func (s *Stream) Next() Problem {
	for {
		if p := s.draw(); p.inRange() {
			return p
		}
	}
}

// NextTraining returns the next problem that is not held out.
func (s *Stream) NextTraining() Problem {
	for {
		if p := s.Next(); !p.HeldOut() {
			return p
		}
	}
}

// draw makes one problem, in range or not.
func (s *Stream) draw() Problem {
	p := Problem{K: 2 + s.rand.Below(2)}
	p.Operands[0] = 10 + s.rand.Below(90)
	for i := range p.K {
		if i == 0 {
			p.Signs[i] = "+-*"[s.rand.Below(3)]
		} else {
			p.Signs[i] = "+-"[s.rand.Below(2)]
		}
		if p.Signs[i] == '*' {
			p.Operands[i+1] = 2 + s.rand.Below(8)
		} else {
			p.Operands[i+1] = 10 + s.rand.Below(90)
		}
	}
	return p
}

// mostHeldOut is far below the number of held-out problems, about 200,000 of three operands and millions of four, so that
// the search for different ones ends soon.
const mostHeldOut = 100_000

// HeldOutProblems returns the first n different held-out problems of a seed.
func HeldOutProblems(seed uint64, n int) ([]Problem, error) {
	if n < 0 || n > mostHeldOut {
		return nil, fmt.Errorf("%s: %d held-out problems asked for, want 0 to %d", Set, n, mostHeldOut)
	}
	s, seen := NewStream(seed), make(map[Problem]bool, n)
	problems := make([]Problem, 0, n)
	for len(problems) < n {
		if p := s.Next(); p.HeldOut() && !seen[p] {
			seen[p] = true
			problems = append(problems, p)
		}
	}
	return problems, nil
}
