package paritytest

import (
	"math"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/model/dsv4"
	"furlong/ops"
	"furlong/tensor"
)

const (
	w    = dsv4.W
	c4   = dsv4.C4
	c128 = dsv4.C128
)

func rotationMistakes() []Mistake {
	return []Mistake{
		{Name: "half-split rotation", Trap: "T6", op: each("q"), kernels: paired(func(p, n, dim int) (int, int) { return dim - n + p, dim - n/2 + p })},
		{Name: "leading channels turned", Trap: "T6", op: each("q"), kernels: paired(func(p, _, _ int) (int, int) { return 2 * p, 2*p + 1 })},
		{Name: "rotation the other way", Trap: "odd", op: each("q"), kernels: paired(func(p, n, dim int) (int, int) { return dim - n + 2*p + 1, dim - n + 2*p })},
		{Name: "output not turned back", Trap: "T10", op: each("attn_turned"), kernels: func(k part) kernels.Backend { return unturned{k} }},
		{Name: "output turned back at the key's position", Trap: "T10", op: each("attn_turned"), kernels: func(k part) kernels.Backend { return &byKey{part: k, plain: map[*tensor.Tensor][]float32{}} }},
		{Name: "main frequencies in compressed layers", Trap: "T6", op: kinds("q", c4, c128), config: func(c *dsv4.Config) { c.Yarn, c.CompressRopeTheta = dsv4.Yarn{}, c.RopeTheta }},
		{Name: "compressed layers' frequencies in sliding ones", Trap: "T6", op: kinds("q", w), kernels: spun(func(k part) []float32 { _, f := k.at.Config.Frequencies(); return f })},
		{Name: "no YaRN", Trap: "T6", op: kinds("q", c4, c128), config: func(c *dsv4.Config) { c.Yarn = dsv4.Yarn{} }},
		{Name: "YaRN in sliding layers", Trap: "T6", op: kinds("q", w), kernels: spun(stretched)},
		{Name: "YaRN scales cosines and sines", Trap: "T6", op: kinds("q", c4, c128), kernels: func(k part) kernels.Backend { return scaledTurns{k} }},
		{Name: "main frequencies for sliding keys of compressed layers", Trap: "T6", op: kinds("kv", c4, c128), kernels: turnedAfter(1, "kv_normed")},
		{Name: "main frequencies for compressed entries", Trap: "T6", op: kinds("compressed_kv", c4, c128), kernels: turnedAfter(0, "compress_pooled")},
		{Name: "cosines and sines in bfloat16", Trap: "T23", Fault: Rounding, op: each("q"), kernels: func(k part) kernels.Backend { return coarseTurns{k} }},
		{Name: "entries turned at the window's last position", Trap: "table", op: kinds("compressed_kv", c4, c128), kernels: moved(func(at, rate int32) int32 { return at*rate + rate - 1 })},
		{Name: "entries turned at the window's number", Trap: "odd", op: kinds("compressed_kv", c4, c128), kernels: moved(func(at, _ int32) int32 { return at })},
		{Name: "positions counted from 1", Trap: "odd", op: each("q"), kernels: func(k part) kernels.Backend { return positions{k, func(p int32) int32 { return p + 1 }} }},
		{Name: "positions beyond 512 held at 511", Trap: "late", Least: 545, op: each("q"), kernels: func(k part) kernels.Backend { return positions{k, func(p int32) int32 { return min(p, 511) }} }},
	}
}

// pairs turns other channels of a head: at says which two are pair p, where n channels of dim turn.
type pairs struct {
	part
	at func(p, n, dim int) (int, int)
}

func paired(at func(p, n, dim int) (int, int)) func(part) kernels.Backend {
	return func(k part) kernels.Backend { return pairs{k, at} }
}

func (k pairs) RoPE(y, x, cos, sin *tensor.Tensor, dim int, inverse bool) {
	k.Copy(y, x)
	n, heads := cos.Dim(), x.Dim()/dim
	for i := range x.Rows() * heads {
		head := y.F32()[i*dim:][:dim]
		for p := range n {
			c, s := cos.F32()[i/heads*n+p], sin.F32()[i/heads*n+p]
			if inverse {
				s = -s
			}
			a, b := k.at(p, 2*n, dim)
			head[a], head[b] = head[a]*c-head[b]*s, head[a]*s+head[b]*c
		}
	}
}

// unturned leaves attention's output as values carry it.
type unturned struct{ part }

func (k unturned) RoPE(y, x, cos, sin *tensor.Tensor, dim int, inverse bool) {
	if inverse {
		k.Copy(y, x)
		return
	}
	k.Backend.RoPE(y, x, cos, sin, dim, inverse)
}

// byKey turns each value back by its own position instead of the query's: what is turned back then is what values were before any turn.
type byKey struct {
	part
	plain map[*tensor.Tensor][]float32 // of turned rows, what they were
	mix   []float32                    // of plain values, made when attention is
}

func (k *byKey) RoPE(y, x, cos, sin *tensor.Tensor, dim int, inverse bool) {
	if inverse {
		copy(y.F32(), k.mix)
		return
	}
	k.plain[y] = append([]float32(nil), x.F32()...)
	k.Backend.RoPE(y, x, cos, sin, dim, inverse)
}

func (k *byKey) Attend(o, lse, q, sink *tensor.Tensor, heads int, views ...kernels.View) {
	k.Backend.Attend(o, lse, q, sink, heads, views...)
	dim := q.Dim() / heads
	k.mix = make([]float32, q.Len())
	for i, l := range lse.F32() {
		query, out := q.F32()[i*dim:][:dim], k.mix[i*dim:][:dim]
		for _, v := range views {
			for _, r := range v.At(i / heads) {
				p := math.Exp(inner(query, rowOf(v.Pool, int(r)))/math.Sqrt(float64(dim)) - float64(l))
				for c, value := range k.plain[v.Pool][int(r)*dim:][:dim] {
					out[c] += float32(p) * value
				}
			}
		}
	}
}

// spin makes all angles of other frequencies.
type spin struct {
	part
	freq func(part) []float32
}

func spun(freq func(part) []float32) func(part) kernels.Backend {
	return func(k part) kernels.Backend { return spin{k, freq} }
}

func (k spin) Angles(cos, sin *tensor.Tensor, pos []int32, _ []float32) {
	k.Backend.Angles(cos, sin, pos, k.freq(k.part))
}

// stretched returns the main frequencies, stretched as those of compressed layers are.
func stretched(k part) []float32 {
	c := k.at.Config
	c.CompressRopeTheta = c.RopeTheta
	_, f := c.Frequencies()
	return f
}

// scaledTurns multiplies cosines and sines by what YaRN has for it in other models.
type scaledTurns struct{ part }

func (k scaledTurns) Angles(cos, sin *tensor.Tensor, pos []int32, freq []float32) {
	k.Backend.Angles(cos, sin, pos, freq)
	for _, x := range []*tensor.Tensor{cos, sin} {
		for i := range x.F32() {
			x.F32()[i] *= float32(0.1*math.Log(k.at.Config.Yarn.Factor) + 1)
		}
	}
}

// otherTurn turns what follows some boundaries by the main frequencies. tokens is 1 where rows are tokens, and 0 where they are windows.
type otherTurn struct {
	part
	tokens int
	after  []string
	plain  bool // turn by nothing at all
}

func turnedAfter(tokens int, after ...string) func(part) kernels.Backend {
	return func(k part) kernels.Backend { return otherTurn{k, tokens, after, false} }
}

func (k otherTurn) RoPE(y, x, cos, sin *tensor.Tensor, dim int, inverse bool) {
	if !k.at.follows(k.after...) {
		k.Backend.RoPE(y, x, cos, sin, dim, inverse)
		return
	}
	main, _ := k.at.Config.Frequencies()
	if k.plain {
		clear(main)
	}
	rate := int32(1)
	if k.tokens == 0 {
		rate = k.rate()
	}
	pos := make([]int32, x.Rows())
	for i := range pos {
		pos[i] = int32(i) * rate
	}
	other := ops.Rotation{Cos: tensor.New(dtype.F32, cos.Shape...), Sin: tensor.New(dtype.F32, sin.Shape...)}
	k.Backend.Angles(other.Cos, other.Sin, pos, main)
	k.Backend.RoPE(y, x, other.Cos, other.Sin, dim, inverse)
}

// rate returns how many tokens an entry of the layer stands for.
func (k part) rate() int32 {
	if k.at.kind().Attention == c4 {
		return int32(k.at.Config.RateC4)
	}
	return int32(k.at.Config.RateC128)
}

// coarseTurns rounds cosines and sines to bfloat16.
type coarseTurns struct{ part }

func (k coarseTurns) Angles(cos, sin *tensor.Tensor, pos []int32, freq []float32) {
	k.Backend.Angles(cos, sin, pos, freq)
	coarse(k.at.Config, cos.F32())
	coarse(k.at.Config, sin.F32())
}

// placed turns entries at another position than that of their window's first token.
type placed struct {
	part
	to func(window, rate int32) int32
}

func moved(to func(window, rate int32) int32) func(part) kernels.Backend {
	return func(k part) kernels.Backend { return placed{k, to} }
}

func (k placed) Angles(cos, sin *tensor.Tensor, pos []int32, freq []float32) {
	if k.at.follows("compress_pooled", "index_pooled") {
		other := make([]int32, len(pos))
		for i, p := range pos {
			other[i] = k.to(p/k.rate(), k.rate())
		}
		pos = other
	}
	k.Backend.Angles(cos, sin, pos, freq)
}

// positions makes all angles of other positions.
type positions struct {
	part
	of func(int32) int32
}

func (k positions) Angles(cos, sin *tensor.Tensor, pos []int32, freq []float32) {
	other := make([]int32, len(pos))
	for i, p := range pos {
		other[i] = k.of(p)
	}
	k.Backend.Angles(cos, sin, other, freq)
}
