package samples

import (
	"slices"

	"furlong/rl"
)

// The experts of a sample are one string of bits, lowest first in each byte. For each token but the last it says under which engines they are kept, then, for
// those, the number of each expert, layer by layer; the trainer's only where they are not the rollout engine's:
//
//	rollout 1, trainer 1, [experts when drawn], [same 1 if both], [experts in the trainer if not the same]
//
// A sample of which nothing is kept has no bits at all.

// A bitWriter appends bits to bytes.
type bitWriter struct {
	out  []byte
	have uint64 // bits that are not written yet, lowest first
	n    int
}

func (w *bitWriter) put(v uint64, n int) {
	w.have |= v << w.n
	for w.n += n; w.n >= 8; w.n -= 8 {
		w.out = append(w.out, byte(w.have))
		w.have >>= 8
	}
}

func (w *bitWriter) flag(on bool) {
	if on {
		w.put(1, 1)
		return
	}
	w.put(0, 1)
}

// end fills the last byte with zeros.
func (w *bitWriter) end() []byte {
	if w.n > 0 {
		w.put(0, 8-w.n)
	}
	return w.out
}

// pack appends to b what is kept of a sample's experts.
func (k keeping) pack(b []byte, sample int, s *Sample) []byte {
	if k.model == nil {
		return b
	}
	w, any, before := &bitWriter{out: b}, false, len(b)
	for t := range len(s.Prompt.Tokens) + len(s.Response) - 1 {
		kept := k.keeps(sample, t)
		any = k.token(w, s, t, kept) || any
	}
	if b = w.end(); !any {
		return b[:before]
	}
	return b
}

// token appends what is kept of one token, and reports whether that is something.
func (k keeping) token(w *bitWriter, s *Sample, t int, kept bool) bool {
	var rows [numSides][]byte
	for side, r := range s.routesOf() {
		if kept && t < r.Len() {
			n := r.Layers * r.RowBytes()
			rows[side] = r.Rows[t*n:][:n]
		}
		w.flag(rows[side] != nil)
	}
	drawn, trained := rows[ByRollout], rows[ByTrainer]
	if drawn != nil {
		k.row(w, drawn)
	}
	if drawn != nil && trained != nil {
		same := string(drawn) == string(trained)
		if w.flag(same); same {
			return true
		}
	}
	if trained != nil {
		k.row(w, trained)
	}
	return drawn != nil || trained != nil
}

// row appends a token's experts, as rl.Routes has them.
func (k keeping) row(w *bitWriter, row []byte) {
	n := k.model.idBits()
	if k.model.Experts <= 256 {
		for _, e := range row {
			w.put(uint64(e), n)
		}
		return
	}
	for ; len(row) > 1; row = row[2:] {
		w.put(uint64(row[0])|uint64(row[1])<<8, n)
	}
}

// Chosen is which experts the tokens of a sample went to, as far as a body keeps it.
type Chosen struct {
	Layers  int
	Choices int // experts of a token in each layer
	Experts int // of a layer

	bits []byte
	at   [numSides][]int64 // bit where the experts of a token begin, -1 where they are not kept; of all tokens but the last
}

func (c *Chosen) model() model { return model{c.Layers, c.Choices, c.Experts} }

// At appends to dst the experts of a token in a layer, in the order of its scores, and reports whether they are kept.
func (c *Chosen) At(dst []int, side Side, token, layer int) ([]int, bool) {
	if c == nil || token < 0 || token >= len(c.at[side]) || c.at[side][token] < 0 {
		return dst, false
	}
	n := c.model().idBits()
	at := c.at[side][token] + int64(layer)*int64(c.Choices*n)
	for range c.Choices {
		dst = append(dst, c.get(at, n))
		at += int64(n)
	}
	return dst, true
}

// get returns the n bits from one on; n is at most 16.
func (c *Chosen) get(at int64, n int) int {
	var v uint32
	for i, b := range c.bits[at>>3 : min(int64(len(c.bits)), at>>3+3)] {
		v |= uint32(b) << (8 * i)
	}
	return int(v>>(at&7)) & (1<<n - 1)
}

// Routes returns the experts of one side, nil unless those of every token but the last are kept.
func (c *Chosen) Routes(side Side) *rl.Routes {
	if c == nil || len(c.at[side]) == 0 || slices.Contains(c.at[side], -1) {
		return nil
	}
	r := rl.NewRoutes(c.Layers, c.Choices, c.Experts)
	r.Rows = make([]byte, 0, len(c.at[side])*c.Layers*r.RowBytes())
	n, row := c.model().idBits(), make([]int32, c.Layers*c.Choices)
	for _, at := range c.at[side] {
		for i := range row {
			row[i] = int32(c.get(at+int64(i*n), n))
		}
		r.Add(row)
	}
	return r
}
