package transformers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"furlong/checkpoint/safetensors"
)

// Score returns what the library makes of every sequence: logprobs by a log-softmax of the logits over temperature, in float64 whatever the model computes in.
// Every sequence is a pass of its own.
func (p *Process) Score(ctx context.Context, sequences [][]int32, temperature float64) ([]Scores, error) {
	if len(sequences) == 0 {
		return nil, nil
	}
	if !(temperature > 0) {
		return nil, fmt.Errorf("transformers: score: temperature is %v, want more than 0", temperature)
	}
	r, err := p.ask(ctx, question{Op: "score", Sequences: sequences, Temperature: temperature})
	if err != nil {
		return nil, err
	}
	if len(r.Scores) != len(sequences) {
		return nil, fmt.Errorf("transformers: score: %d answers, want one for each of %d sequences", len(r.Scores), len(sequences))
	}
	for i, s := range r.Scores {
		if n := len(sequences[i]) - 1; len(s.LogProbs) != n || len(s.Top) != n || len(s.Entropy) != n {
			return nil, fmt.Errorf("transformers: score: sequence %d: %d logprobs, %d best tokens, %d entropies, want %d of each",
				i, len(s.LogProbs), len(s.Top), len(s.Entropy), n)
		}
	}
	return r.Scores, nil
}

// Taps returns intermediate results of one pass over ids: all of them, or those called one of only, which names a result ("final_norm"), one of every
// layer ("streams", "attn_hc.post"), or one of one layer ("L3.streams"). The caller closes the file, which has no name in a folder any more.
func (p *Process) Taps(ctx context.Context, ids []int32, only ...string) (*safetensors.File, error) {
	path := filepath.Join(p.dir, strconv.FormatInt(p.files.Add(1), 10)+".safetensors")
	if _, err := p.ask(ctx, question{Op: "taps", IDs: ids, Only: only, Path: path}); err != nil {
		return nil, err
	}
	f, err := safetensors.Open(path)
	if err != nil {
		return nil, fmt.Errorf("transformers: taps: %w", err)
	}
	if err := os.Remove(path); err != nil {
		f.Close()
		return nil, fmt.Errorf("transformers: taps: %w", err)
	}
	return f, nil
}
