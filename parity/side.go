package parity

import (
	"context"
	"fmt"
)

// A Side is one of the two engines. One goroutine uses it. About is asked first; Close ends it.
type Side interface {
	// About says what the side is. What it does not know it leaves out.
	About(ctx context.Context) (About, error)
	// Score returns for each sequence, in order, the logprobs of its response, and what it chose if it can tell. It calls done, which may be nil, with
	// the number of sequences scored so far.
	Score(ctx context.Context, seqs []Sequence, done func(n int)) ([]Scores, error)
	Close() error
}

// A Generator is a side that can draw responses.
type Generator interface {
	// Generate returns the prompts with a response each, and with the logprobs under which its tokens were drawn.
	Generate(ctx context.Context, prompts []Sequence, d Drawing, done func(n int)) ([]Sequence, error)
}

// A Drawing says how responses are drawn: at temperature 1, from the whole distribution.
type Drawing struct {
	MaxNewTokens int
	StopIDs      []int32
	Seed         uint64
}

// A Twinner is a side that can be made again with another's formats: what then is left of a gap is not the formats' doing.
type Twinner interface {
	// Twin returns such a side, which the caller closes, or an error that wraps ErrNoTwin where it cannot take those formats.
	Twin(ctx context.Context, other About) (Side, error)
}

// A Sequence is a prompt with a response.
type Sequence struct {
	ID        string
	Prompt    []int32
	Response  []int32
	Generated []float32 // logprobs of the response under which it was drawn; nil where it was given
	Seed      uint64    // with which it was drawn
}

// Tokens returns prompt and response, end to end.
func (s Sequence) Tokens() []int32 {
	return append(append(make([]int32, 0, len(s.Prompt)+len(s.Response)), s.Prompt...), s.Response...)
}

// Scores are what a side says of a sequence.
type Scores struct {
	LogProbs []float32 // of each response token
	Top      []int32   // the likeliest token in place of each; nil where the side does not tell
	Experts  []Choice  // of layers that route; nil where the side does not tell
	Index    []Choice  // of layers with an indexer: compressed entries, ascending, then -1
}

// A Choice is what the tokens of a sequence chose in a layer: [tokens, Width], from token First on, to the last but one or the last.
type Choice struct {
	Layer int
	First int
	Width int
	IDs   []int32
}

// Rows returns the number of tokens that chose.
func (c Choice) Rows() int {
	if c.Width == 0 {
		return 0
	}
	return len(c.IDs) / c.Width
}

// row returns the choices of the sequence's token at pos, nil where there are none.
func (c Choice) row(pos int) []int32 {
	if i := pos - c.First; i >= 0 && i < c.Rows() {
		return c.IDs[i*c.Width:][:c.Width]
	}
	return nil
}

// fits returns an error unless scores are those of a sequence.
func (s Scores) fits(q Sequence) error {
	if len(s.LogProbs) != len(q.Response) {
		return fmt.Errorf("sequence %s: %d logprobs, want one for each of %d response tokens", q.ID, len(s.LogProbs), len(q.Response))
	}
	if s.Top != nil && len(s.Top) != len(q.Response) {
		return fmt.Errorf("sequence %s: %d likeliest tokens, want one for each of %d response tokens", q.ID, len(s.Top), len(q.Response))
	}
	for _, c := range append(append([]Choice(nil), s.Experts...), s.Index...) {
		if c.Width < 1 || len(c.IDs)%c.Width != 0 || c.First < 0 || c.First+c.Rows() > len(q.Prompt)+len(q.Response) {
			return fmt.Errorf("sequence %s: layer %d: %d choices of width %d from token %d on, want whole rows of a sequence of %d tokens",
				q.ID, c.Layer, len(c.IDs), c.Width, c.First, len(q.Prompt)+len(q.Response))
		}
	}
	return nil
}

// scored has a side score sequences and holds what comes back to what was asked.
func scored(ctx context.Context, name string, s Side, seqs []Sequence, done func(int)) ([]Scores, error) {
	if done == nil {
		done = func(int) {}
	}
	got, err := s.Score(ctx, seqs, done)
	if err == nil && len(got) != len(seqs) {
		err = fmt.Errorf("%d results for %d sequences", len(got), len(seqs))
	}
	for i := 0; err == nil && i < len(got); i++ {
		err = got[i].fits(seqs[i])
	}
	if err != nil {
		return nil, fmt.Errorf("%s: score: %w", name, err)
	}
	return got, nil
}
