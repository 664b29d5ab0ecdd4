package train

import (
	"fmt"
	"testing"

	"furlong/dtype"
	"furlong/ops"
	"furlong/rl"
)

// A padding adds tokens to a micro-batch that stand for nothing.
type padding func(p pass) pass

// eachTo pads every sequence to a multiple of n tokens, as rows of a rectangle are: the tokens go on where the sequence ends.
func eachTo(n int) padding {
	return func(p pass) pass {
		out := p
		out.in, out.rows = &ops.Tokens{}, nil
		from, next := 0, p.rows
		for i, s := range p.samples {
			length, base := run(s), out.in.Len()
			for pos := range (length + n - 1) / n * n {
				id := int32(0)
				if pos < length {
					id = p.in.ID[from+pos]
				}
				stand(out.in, id, i, pos)
			}
			for _, row := range next[:len(s.Response)] {
				out.rows = append(out.rows, row-int32(from)+int32(base))
			}
			from, next = from+length, next[len(s.Response):]
		}
		return out
	}
}

// allTo pads a micro-batch to a multiple of n tokens, by a sequence of its own.
func allTo(n int) padding {
	return func(p pass) pass {
		out := p
		in := *p.in
		out.in = &in
		for pos := 0; out.in.Len()%n != 0; pos++ {
			stand(out.in, 0, len(p.samples), pos)
		}
		return out
	}
}

func stand(in *ops.Tokens, id int32, seq, pos int) {
	in.ID, in.Seq, in.Pos = append(in.ID, id), append(in.Seq, int32(seq)), append(in.Pos, int32(pos))
}

// paddedStep computes a step whose micro-batches are padded, and returns its tokens besides.
func paddedStep(t *testing.T, e *Engine, b *rl.Batch, pad padding) (p pulling, tokens int) {
	t.Helper()
	defer func() { e.known = nil }()
	if err := e.prepareCycle(t.Context(), b.Samples); err != nil {
		t.Fatal(err)
	}
	ld, err := e.newLedger(t.Context(), b.Samples)
	if err != nil {
		t.Fatal(err)
	}
	err = e.lanes.run(t.Context(), "step", b.Samples, e.cfg.MaxTokens, func(l *lane, turn *ops.Turn, p pass) {
		p = pad(p)
		turn.Do("tokens", func() { tokens += p.in.Len() })
		e.micro(l, turn, p, ld)
	})
	if err != nil {
		t.Fatal(err)
	}
	return pullingOf(e, &ld.sums), tokens
}

// Sequences that are packed and sequences that are padded are the same step, in every bit of logprobs, loss and gradients: no token reads what comes after it or what
// belongs to another sequence, and a row that no loss reads adds zeros. Padding up to a multiple of a compressor's rate closes windows that the sequence left open.
func TestPaddingDoesNotMatter(t *testing.T) {
	long(t)
	for _, format := range []string{"bf16", "fp8"} {
		c := settings()
		c.MaxTokens, c.FreezeGate, c.Format = 60, false, format
		e := cpuEngine(t, c, dtype.BF16)
		whole := batch(1, 3, 4)
		want, packed := paddedStep(t, e, whole, func(p pass) pass { return p })
		for name, pad := range map[string]padding{
			"sequences to 4":       eachTo(4),
			"sequences to 8":       eachTo(small.RateC128), // the largest rate of a compressor
			"sequences to 32":      eachTo(32),
			"micro-batches to 16":  allTo(16),
			"micro-batches to 128": allTo(128),
		} {
			what := fmt.Sprintf("%s, %s", format, name)
			padded := batch(1, 3, 4)
			got, tokens := paddedStep(t, e, padded, pad)
			if tokens <= packed {
				t.Fatalf("%s: %d tokens, want more than %d", what, tokens, packed)
			}
			got.wantSame(t, what, want)
			for i, s := range padded.Samples {
				if fmt.Sprint(s.TrainLogProbs, s.Entropy) != fmt.Sprint(whole.Samples[i].TrainLogProbs, whole.Samples[i].Entropy) {
					t.Errorf("%s: logprobs and entropies of sample %d are %v %v, want %v %v", what, i, s.TrainLogProbs, s.Entropy, whole.Samples[i].TrainLogProbs, whole.Samples[i].Entropy)
				}
			}
		}
	}
}

// wantSame holds p against another pulling: the same sums and the same numbers. The sign of a zero is open.
func (p *pulling) wantSame(t *testing.T, what string, want pulling) {
	t.Helper()
	if p.sums != want.sums {
		t.Errorf("%s: sums are %+v, want %+v", what, p.sums, want.sums)
	}
	bad := 0
	for name, g := range want.grads {
		for i, v := range g {
			if p.grads[name][i] != v {
				if bad++; bad <= 3 {
					t.Errorf("%s: gradient %d of %s is %v, want %v", what, i, name, p.grads[name][i], v)
				}
				break
			}
		}
	}
	if bad > 3 {
		t.Errorf("%s: gradients of %d of %d weights differ", what, bad, len(want.grads))
	}
}
