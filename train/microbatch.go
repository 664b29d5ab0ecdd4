package train

import (
	"furlong/ops"
	"furlong/rl"
)

// A pass is one micro-batch: whole sequences, end to end. A sequence's last token is not run, since nothing follows it.
type pass struct {
	samples []*rl.Sample
	in      *ops.Tokens
	rows    []int32   // tokens whose successor is a response token, sample after sample
	next    []int32   // those successors
	scale   []float32 // inverse temperature of each row
}

// passes cuts samples into micro-batches of at most budget tokens, in order. A longer sequence gets one of its own.
func passes(samples []*rl.Sample, budget int) []pass {
	var out []pass
	for lo := 0; lo < len(samples); {
		hi, tokens := lo, 0
		for hi < len(samples) && (hi == lo || tokens+run(samples[hi]) <= budget) {
			tokens += run(samples[hi])
			hi++
		}
		out = append(out, pack(samples[lo:hi]))
		lo = hi
	}
	return out
}

// run returns the number of tokens that a pass runs for s.
func run(s *rl.Sample) int { return len(s.Prompt.Tokens) + len(s.Response) - 1 }

func pack(samples []*rl.Sample) pass {
	p := pass{samples: samples, in: &ops.Tokens{}}
	for i, s := range samples {
		base, first := int32(len(p.in.ID)), len(s.Prompt.Tokens)
		tokens := s.Tokens()
		for pos, id := range tokens[:len(tokens)-1] {
			p.in.ID = append(p.in.ID, id)
			p.in.Seq = append(p.in.Seq, int32(i))
			p.in.Pos = append(p.in.Pos, int32(pos))
		}
		for pos, id := range s.Response {
			p.rows = append(p.rows, base+int32(first+pos-1))
			p.next = append(p.next, id)
			p.scale = append(p.scale, s.Sampling.InvTemperature())
		}
	}
	return p
}

// each calls f with each sample and its rows lo up to hi.
func (p pass) each(f func(s *rl.Sample, lo, hi int)) {
	lo := 0
	for _, s := range p.samples {
		f(s, lo, lo+len(s.Response))
		lo += len(s.Response)
	}
}
