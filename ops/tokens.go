package ops

import "furlong/tensor"

// Tokens is the input of one forward pass: T tokens of any number of sequences. The tokens of one sequence lie
// next to each other, in ascending position.
type Tokens struct {
	ID, Seq, Pos []int32 // each [T]

	closed map[int32]*Tokens
	turns  map[turn]Rotation
}

// A turn is what a rotation is made of, besides the tokens.
type turn struct {
	freq   *float32
	stride int32
}

// Len returns T.
func (in *Tokens) Len() int { return len(in.Pos) }

// Closed returns the windows of m tokens that in completes, as tokens whose positions count windows. They have no ids.
func (in *Tokens) Closed(m int32) *Tokens {
	if w, ok := in.closed[m]; ok {
		return w
	}
	w := &Tokens{}
	for t, p := range in.Pos {
		if (p+1)%m == 0 {
			w.Seq = append(w.Seq, in.Seq[t])
			w.Pos = append(w.Pos, p/m)
		}
	}
	if in.closed == nil {
		in.closed = map[int32]*Tokens{}
	}
	in.closed[m] = w
	return w
}

// Runs calls f for each run of tokens of one sequence: tokens lo up to hi.
func (in *Tokens) Runs(f func(seq int32, lo, hi int)) {
	for lo := 0; lo < len(in.Seq); {
		hi := lo + 1
		for hi < len(in.Seq) && in.Seq[hi] == in.Seq[lo] {
			hi++
		}
		f(in.Seq[lo], lo, hi)
		lo = hi
	}
}

// A Rotation holds the cosines and sines of the angles by which tokens are turned: [T, pairs] each.
type Rotation struct{ Cos, Sin *tensor.Tensor }

// Rotation returns the rotation of every token at frequencies freq, stride positions apart: stride is 1 for tokens,
// and m for windows of m tokens, which are turned at their first token's position. It is made once for a pass, on the Go
// heap since it outlives what a Recompute inside the pass takes from the arena.
func (in *Tokens) Rotation(c *Ctx, freq []float32, stride int32) Rotation {
	key := turn{&freq[0], stride}
	if r, ok := in.turns[key]; ok {
		return r
	}
	pos := in.Pos
	if stride != 1 {
		pos = make([]int32, len(in.Pos))
		for i, p := range in.Pos {
			pos[i] = p * stride
		}
	}
	r := Rotation{tensor.New(c.Type, len(pos), len(freq)), tensor.New(c.Type, len(pos), len(freq))}
	c.K.Angles(r.Cos, r.Sin, pos, freq)
	if in.turns == nil {
		in.turns = map[turn]Rotation{}
	}
	in.turns[key] = r
	return r
}
