package oracle

import (
	"math"
	"slices"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/model/dsv4"
	"furlong/tensor"
)

func rotationMistakes(main, compress []float32) []mistake {
	return []mistake{
		{name: "output not turned back", k: unturned{exact}, at: 17, error: 5.4},
		{name: "output turned back at the key's position", k: &byKey{right: exact, plain: map[*tensor.Tensor]*tensor.Tensor{}}, at: 17, error: 3.9},
		{name: "half-split rotation", k: pairs{exact, func(p, n, dim int) (int, int) { return dim - n + p, dim - n/2 + p }}, at: 17, error: 4.6},
		{name: "leading channels turned", k: pairs{exact, func(p, _, _ int) (int, int) { return 2 * p, 2*p + 1 }}, at: 17, error: 6.5},
		{name: "no YaRN", cfg: func(c *dsv4.Config) { c.Yarn = dsv4.Yarn{} }, at: 17, error: 2.3},
		{
			name: "main frequencies on compressed layers", at: 17, error: 0.11,
			cfg: func(c *dsv4.Config) { c.Yarn, c.CompressRopeTheta = dsv4.Yarn{}, c.RopeTheta },
		},
		{name: "compressed layers' frequencies everywhere", k: angles{exact, func(pos []int32, f []float32) ([]int32, []float32) { return pos, compress }}, at: 17, error: 0.12},
		{
			name: "main frequencies there but for entries and indexer", at: 17, error: 0.12,
			k: &turned{right: exact, freq: main, which: func(_ *tensor.Tensor, dim int, pos []int32) bool { return dim == 32 && pos[1] == 1 }},
		},
		{
			name: "main frequencies there for sliding keys", at: 17, error: 0.14,
			k: &turned{right: exact, freq: main, which: func(x *tensor.Tensor, _ int, pos []int32) bool { return x.Dim() == 32 && pos[1] == 1 }},
		},
		{name: "YaRN scales cosines and sines", k: scaledTurns{exact, compress}, at: 17, error: 2.5},
		{name: "cosines and sines in bfloat16", k: coarseTurns{exact}, at: 17, error: 0.022},
		{name: "entries turned at the window's last position", k: angles{exact, lastPositions}, at: 17, error: 2.5},
	}
}

// unturned leaves attention's output as values carry it.
type unturned struct{ *right }

func (k unturned) RoPE(y, x, cos, sin *tensor.Tensor, dim int, inverse bool) {
	if inverse {
		k.Copy(y, x)
		return
	}
	k.right.RoPE(y, x, cos, sin, dim, inverse)
}

// byKey turns each value back at its own position instead of the query's: values then carry no rotation at all.
type byKey struct {
	*right
	plain map[*tensor.Tensor]*tensor.Tensor // of turned rows, what they were
}

func (k *byKey) RoPE(y, x, cos, sin *tensor.Tensor, dim int, inverse bool) {
	if inverse {
		k.Copy(y, x)
		return
	}
	k.plain[y] = x.Clone() // y may be x
	k.right.RoPE(y, x, cos, sin, dim, inverse)
}

func (k *byKey) Attend(o, lse, q, sink *tensor.Tensor, heads int, views ...kernels.View) {
	k.right.Attend(o, lse, q, sink, heads, views...)
	o.Zero()
	dim := q.Dim() / heads
	for i, l := range lse.F64() {
		query, out := q.F64()[i*dim:][:dim], o.F64()[i*dim:][:dim]
		for _, v := range views {
			for _, r := range v.At(i / heads) {
				key, value := row(v.Pool, r), row(k.plain[v.Pool], r)
				p := math.Exp(dot(query, key)/math.Sqrt(float64(dim)) - l)
				for c := range out {
					out[c] += p * value[c]
				}
			}
		}
	}
}

func row(x *tensor.Tensor, r int32) []float64 { return x.F64()[int(r)*x.Dim():][:x.Dim()] }

// pairs turns other channels of a head. at returns the two of pair p, where n channels of dim turn.
type pairs struct {
	*right
	at func(p, n, dim int) (int, int)
}

func (k pairs) RoPE(y, x, cos, sin *tensor.Tensor, dim int, inverse bool) {
	k.Copy(y, x)
	n, heads := cos.Dim(), x.Dim()/dim
	for i := range x.Rows() * heads {
		run := y.F64()[i*dim:][:dim]
		for p := range n {
			c, s := cos.F64()[i/heads*n+p], sin.F64()[i/heads*n+p]
			if inverse {
				s = -s
			}
			a, b := k.at(p, 2*n, dim)
			run[a], run[b] = run[a]*c-run[b]*s, run[a]*s+run[b]*c
		}
	}
}

// angles makes angles of other positions or frequencies.
type angles struct {
	*right
	of func([]int32, []float32) ([]int32, []float32)
}

func (k angles) Angles(cos, sin *tensor.Tensor, pos []int32, freq []float32) {
	pos, freq = k.of(pos, freq)
	k.right.Angles(cos, sin, pos, freq)
}

// lastPositions moves windows, known by their stride, to the last of their positions. A single one stands for 16 tokens.
func lastPositions(pos []int32, f []float32) ([]int32, []float32) {
	stride := int32(16)
	if len(pos) > 1 {
		stride = pos[1] - pos[0]
	}
	last := slices.Clone(pos)
	for i := range last {
		last[i] += stride - 1
	}
	return last, f
}

// turned turns some rows by other frequencies, or by none if freq is nil.
type turned struct {
	*right
	which func(x *tensor.Tensor, dim int, pos []int32) bool
	freq  []float32
	pos   map[*tensor.Tensor][]int32 // of cosines
}

func (k *turned) Angles(cos, sin *tensor.Tensor, pos []int32, freq []float32) {
	if k.pos == nil {
		k.pos = map[*tensor.Tensor][]int32{}
	}
	k.pos[cos] = pos
	k.right.Angles(cos, sin, pos, freq)
}

func (k *turned) RoPE(y, x, cos, sin *tensor.Tensor, dim int, inverse bool) {
	if pos := k.pos[cos]; len(pos) > 1 && k.which(x, dim, pos) {
		cos, sin = tensor.New(dtype.F64, cos.Shape...), tensor.New(dtype.F64, sin.Shape...)
		freq := k.freq
		if freq == nil {
			freq = make([]float32, cos.Dim())
		}
		k.right.Angles(cos, sin, pos, freq)
	}
	k.right.RoPE(y, x, cos, sin, dim, inverse)
}

// scaledTurns multiplies the cosines and sines of the stretched frequencies, as YaRN does in other models.
type scaledTurns struct {
	*right
	freq []float32
}

func (k scaledTurns) Angles(cos, sin *tensor.Tensor, pos []int32, freq []float32) {
	k.right.Angles(cos, sin, pos, freq)
	if slices.Equal(freq, k.freq) {
		times(cos, 0.1*math.Log(4)+1)
		times(sin, 0.1*math.Log(4)+1)
	}
}

// coarseTurns rounds cosines and sines to bfloat16.
type coarseTurns struct{ *right }

func (k coarseTurns) Angles(cos, sin *tensor.Tensor, pos []int32, freq []float32) {
	k.right.Angles(cos, sin, pos, freq)
	coarsen(cos)
	coarsen(sin)
}

func coarsen(x *tensor.Tensor) {
	for i, v := range x.F64() {
		x.F64()[i] = float64(dtype.FromBF16(dtype.ToBF16(float32(v))))
	}
}
