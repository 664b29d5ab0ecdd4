package arithmetic

import (
	"encoding/json"
	"fmt"
	"iter"
	"strconv"

	"furlong/rl"
	"furlong/tokenizer"
)

// Set is the name of the data set in prompts.
const Set = "tiny-arithmetic"

// A Source hands out training problems without end: the [rl.PromptSource] of the recipe. Held-out problems never appear.
// It is used by one goroutine.
type Source struct {
	tok    tokenizer.Tokenizer
	seed   uint64
	stream *Stream
	count  int64 // prompts handed out
}

// NewSource returns the source of a seed, at its beginning.
func NewSource(tok tokenizer.Tokenizer, seed uint64) *Source {
	return &Source{tok: tok, seed: seed, stream: NewStream(seed)}
}

// Next returns the next n prompts.
func (s *Source) Next(n int) ([]*rl.Prompt, error) {
	if n < 0 {
		return nil, fmt.Errorf("%s: %d prompts asked for, want 0 or more", Set, n)
	}
	prompts := make([]*rl.Prompt, n)
	for i := range prompts {
		prompts[i] = s.stream.NextTraining().Ask(s.tok)
		prompts[i].Group = s.count
		s.count++
	}
	return prompts, nil
}

// Ask returns p as a prompt. Its id is its text, which is all that there is to it.
func (p Problem) Ask(tok tokenizer.Tokenizer) *rl.Prompt {
	text := p.String()
	return &rl.Prompt{ID: text, Text: text, Tokens: tok.Encode(text), Label: strconv.Itoa(p.Answer()), Set: Set}
}

// state is a Source on paper.
type state struct {
	Set   string `json:"set"`
	Seed  uint64 `json:"seed"`
	Count int64  `json:"count"`
	Rand  []byte `json:"rand"`
}

// State returns what Restore needs to go on at this place.
func (s *Source) State() ([]byte, error) {
	r, err := s.stream.rand.pcg.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Set, err)
	}
	return json.Marshal(state{Set, s.seed, s.count, r})
}

// Restore goes on at the place of a state. It refuses a state of another data set or seed and then stays where it is.
func (s *Source) Restore(b []byte) error {
	var st state
	if err := json.Unmarshal(b, &st); err != nil {
		return fmt.Errorf("%s: state: %w", Set, err)
	}
	if st.Set != Set || st.Seed != s.seed {
		return fmt.Errorf("%s: state is of %q with seed %d, want seed %d", Set, st.Set, st.Seed, s.seed)
	}
	stream := NewStream(s.seed)
	if err := stream.rand.pcg.UnmarshalBinary(st.Rand); err != nil {
		return fmt.Errorf("%s: state: %w", Set, err)
	}
	s.stream, s.count = stream, st.Count
	return nil
}

// HeldOut returns the first n different held-out problems of a seed as prompts.
func HeldOut(tok tokenizer.Tokenizer, seed uint64, n int) ([]*rl.Prompt, error) {
	problems, err := HeldOutProblems(seed, n)
	if err != nil {
		return nil, err
	}
	prompts := make([]*rl.Prompt, len(problems))
	for i, p := range problems {
		prompts[i] = p.Ask(tok)
		prompts[i].Group = int64(i)
	}
	return prompts, nil
}

// Examples yields n training problems with the teacher's response, end token included, as supervised training wants
// them. It may be ranged over again and gives the same examples again.
func Examples(tok tokenizer.Tokenizer, seed uint64, t Teacher, n int) iter.Seq[*rl.Sample] {
	return func(yield func(*rl.Sample) bool) {
		problems, mistakes := NewStream(seed), NewRand(seed)
		for i := range n {
			p := problems.NextTraining()
			s := &rl.Sample{Request: int64(i), Prompt: p.Ask(tok), Text: t.Solve(p, mistakes), Stop: rl.StopToken}
			s.Prompt.Group = int64(i)
			s.Response = append(tok.Encode(s.Text), tok.EOS())
			if !yield(s) {
				return
			}
		}
	}
}
