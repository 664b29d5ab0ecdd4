package suspect

import (
	"fmt"
	"math"
	"slices"

	"furlong/kernels"
	"furlong/model/dsv4"
	"furlong/tensor"
)

// atTurns is every boundary behind a rotation, in the order in which a layer has them.
var atTurns = []string{"q", "kv", "compressed_kv", "index_keys", "index_q", "attn_turned"}

func rotations() []known {
	list := []known{
		pairing("half-split rotation", "turns channel i of the rotated ones with channel i + half of them, where neighbours 2i and 2i + 1 are a pair",
			func(p, n, dim int) (int, int) { return dim - n + p, dim - n + n/2 + p }),
		pairing("leading channels turned", "turns the first channels of each head, where the last are to be turned",
			func(p, _, _ int) (int, int) { return 2 * p, 2*p + 1 }),
		frequencies("main frequencies in compressed layers", "turns compressed layers by the frequencies of sliding ones (rope_theta, not stretched), where everything there is turned by those of compress_rope_theta",
			func(at *pass) []float32 { return at.main }, dsv4.C4, dsv4.C128),
		frequencies("compressed layers' frequencies in sliding layers", "turns sliding layers by the frequencies of compressed ones, where those have rope_theta, not stretched",
			func(at *pass) []float32 { return at.compress }, dsv4.W),
		frequencies("no YaRN", "leaves the frequencies of compressed layers as they are, where YaRN is to stretch them",
			func(at *pass) []float32 { c := at.Config; c.Yarn = dsv4.Yarn{}; _, f := c.Frequencies(); return f }, dsv4.C4, dsv4.C128),
		frequencies("YaRN in sliding layers", "stretches the frequencies of sliding layers by YaRN, which is for compressed layers alone",
			func(at *pass) []float32 {
				c := at.Config
				c.CompressRopeTheta = c.RopeTheta
				_, f := c.Frequencies()
				return f
			}, dsv4.W),
		{
			name: "YaRN scales cosines and sines", ops: atTurns,
			says:    "multiplies cosines and sines by YaRN's attention factor, 0.1 ln(factor) + 1, where that is to be 1",
			when:    func(c config) bool { return c.Yarn.Factor > 1 },
			kernels: func(k part) kernels.Backend { return tables{k, louder} },
		},
		{
			name: "cosines and sines in BF16", ops: atTurns,
			says:    "holds cosines and sines in BF16, where tables of angles are to be float32",
			kernels: func(k part) kernels.Backend { return tables{k, func(at *pass, x *tensor.Tensor) { remake(x, toBF16) }} },
		},
		partial("sliding keys of compressed layers by main frequencies", "turns the keys of single tokens in compressed layers by the frequencies of sliding layers, where everything there has those of compress_rope_theta",
			"kv", "kv_normed"),
		partial("entries by main frequencies", "turns compressed entries by the frequencies of sliding layers, where everything there has those of compress_rope_theta",
			"compressed_kv", "compress_pooled"),
		{
			name: "entries turned at the window's last position", ops: []string{"compressed_kv", "index_keys"},
			says:    "turns a compressed entry at the last position of its window, where that is to be the first",
			kernels: func(k part) kernels.Backend { return lastOfWindow{k} },
		},
		{
			name: "output not turned back", ops: []string{"attn_turned"},
			says:    "leaves attention's output as the turned values make it, where it is to be turned back at the query's position",
			kernels: func(k part) kernels.Backend { return stayed{k} },
		},
		{
			name: "output turned back at the key's position", ops: []string{"attn_turned"},
			says:    "turns each value back at its own position, where the output is to be turned back at the query's",
			kernels: func(k part) kernels.Backend { return &keyTurned{part: k, before: copies{}} },
		},
		displaced("positions counted from 1", "counts positions from 1, where the first token is at 0", func(p int32) int32 { return p + 1 }),
	}
	for n := int32(512); n <= 65536; n *= 2 {
		list = append(list, displaced(fmt.Sprintf("positions held at %d", n-1),
			fmt.Sprintf("has angles of %d positions and turns all later tokens as the last of these", n), func(p int32) int32 { return min(p, n-1) }))
	}
	return list
}

// moved turns everything at another position.
type moved struct {
	part
	to func(pos int32) int32
}

func displaced(name, says string, to func(int32) int32) known {
	return known{name: name, says: says, ops: atTurns, kernels: func(k part) kernels.Backend { return moved{k, to} }}
}

// Angles makes the table.
func (k moved) Angles(cos, sin *tensor.Tensor, pos []int32, freq []float32) {
	pos = slices.Clone(pos)
	for i, p := range pos {
		pos[i] = k.to(p)
	}
	k.Backend.Angles(cos, sin, pos, freq)
}

// pairs turns other channels with each other.
type pairs struct {
	part
	of func(p, n, dim int) (int, int)
}

func pairing(name, says string, of func(p, n, dim int) (int, int)) known {
	return known{name: name, says: says, ops: atTurns, kernels: func(k part) kernels.Backend { return pairs{k, of} }}
}

// RoPE turns pairs of channels: it brings them next to each other, at the end of the head, turns them there, and takes them back.
func (k pairs) RoPE(y, x, cos, sin *tensor.Tensor, dim int, inverse bool) {
	order, n := k.order(2*cos.Dim(), dim), x.Dim()
	z := permuted(x, n, func(i int) int { return i/dim*dim + order[i%dim] })
	k.Backend.RoPE(z, z, cos, sin, dim, inverse)
	back := make([]int, dim)
	for i, from := range order {
		back[from] = i
	}
	k.Copy(y, permuted(z, n, func(i int) int { return i/dim*dim + back[i%dim] }))
}

// order says which channel comes to each place of a head.
func (k pairs) order(n, dim int) []int {
	var pairs []int
	for p := range n / 2 {
		a, b := k.of(p, n, dim)
		pairs = append(pairs, a, b)
	}
	var rest []int
	for i := range dim {
		if !slices.Contains(pairs, i) {
			rest = append(rest, i)
		}
	}
	return append(rest, pairs...)
}

// spun turns layers of some kinds by other frequencies.
type spun struct {
	part
	freq  []float32
	kinds []dsv4.AttentionKind
}

func frequencies(name, says string, freq func(*pass) []float32, kinds ...dsv4.AttentionKind) known {
	return known{
		name: name, says: says, ops: atTurns,
		when: func(c config) bool {
			return slices.ContainsFunc(c.Layers, func(l dsv4.Layer) bool { return slices.Contains(kinds, l.Attention) })
		},
		kernels: func(k part) kernels.Backend { return spun{k, freq(k.at), kinds} },
	}
}

// Angles makes the table.
func (k spun) Angles(cos, sin *tensor.Tensor, pos []int32, freq []float32) {
	if k.at.attends(k.kinds...) {
		freq = k.freq
	}
	k.Backend.Angles(cos, sin, pos, freq)
}

// tables changes cosines and sines.
type tables struct {
	part
	change func(at *pass, x *tensor.Tensor)
}

// Angles makes the table and changes it.
func (k tables) Angles(cos, sin *tensor.Tensor, pos []int32, freq []float32) {
	k.Backend.Angles(cos, sin, pos, freq)
	k.change(k.at, cos)
	k.change(k.at, sin)
}

func louder(at *pass, x *tensor.Tensor) {
	if at.attends(dsv4.C4, dsv4.C128) {
		remake(x, func(v float64) float64 { return v * (0.1*math.Log(at.Yarn.Factor) + 1) })
	}
}

// turnedBy turns what comes after some boundaries by other frequencies.
type turnedBy struct {
	part
	freq func(*pass) []float32
	last []string
}

func partial(name, says, op, last string) known {
	return known{
		name: name, says: says, ops: []string{op},
		when: func(c config) bool { return c.Has(dsv4.C4) || c.Has(dsv4.C128) },
		kernels: func(k part) kernels.Backend {
			return turnedBy{k, func(at *pass) []float32 { return at.main }, []string{last}}
		},
	}
}

// RoPE turns rows: those of windows at the window's first position.
func (k turnedBy) RoPE(y, x, cos, sin *tensor.Tensor, dim int, inverse bool) {
	if !k.at.after(k.last...) || !k.at.attends(dsv4.C4, dsv4.C128) {
		k.Backend.RoPE(y, x, cos, sin, dim, inverse)
		return
	}
	stride := 1
	if k.at.after("compress_pooled", "index_pooled") {
		stride = k.at.rate()
	}
	pos := make([]int32, x.Rows())
	for i := range pos {
		pos[i] = int32(i * stride)
	}
	c, s := cos.Clone(), sin.Clone()
	k.Backend.Angles(c, s, pos, k.freq(k.at))
	k.Backend.RoPE(y, x, c, s, dim, inverse)
}

// lastOfWindow turns entries at the end of their window.
type lastOfWindow struct{ part }

// Angles makes the table: that of windows is made when they have been pooled.
func (k lastOfWindow) Angles(cos, sin *tensor.Tensor, pos []int32, freq []float32) {
	if k.at.after("compress_pooled", "index_pooled") {
		pos = slices.Clone(pos)
		for i := range pos {
			pos[i] += int32(k.at.rate() - 1)
		}
	}
	k.Backend.Angles(cos, sin, pos, freq)
}

// stayed turns nothing back.
type stayed struct{ part }

// RoPE turns rows, but not back.
func (k stayed) RoPE(y, x, cos, sin *tensor.Tensor, dim int, inverse bool) {
	if !inverse {
		k.Backend.RoPE(y, x, cos, sin, dim, inverse)
	} else if y != x {
		k.Copy(y, x)
	}
}

// keyTurned attends to values that carry no rotation, beside those that do, and takes their sum for what was turned back.
type keyTurned struct {
	part
	before copies // values by the tensor of turned ones, which is their pool
	sum    *tensor.Tensor
}

// RoPE turns rows.
func (k *keyTurned) RoPE(y, x, cos, sin *tensor.Tensor, dim int, inverse bool) {
	if inverse {
		k.Copy(y, k.sum)
		return
	}
	k.before[y] = x.Clone()
	k.Backend.RoPE(y, x, cos, sin, dim, inverse)
}

// Attend attends, and sums the values that carry no rotation.
func (k *keyTurned) Attend(o, lse, q, sink *tensor.Tensor, heads int, views ...kernels.View) {
	k.Backend.Attend(o, lse, q, sink, heads, views...)
	d, root := q.Dim()/heads, math.Sqrt(float64(q.Dim()/heads))
	sums := make([]float64, q.Len())
	for t := range q.Rows() {
		for _, v := range views {
			values := k.before[v.Pool]
			if values == nil {
				continue
			}
			for _, r := range v.At(t) {
				for h := range heads {
					at := (t*heads + h) * d
					p := math.Exp(dot(q, at, v.Pool, int(r)*d, d)/root - get(lse, t*heads+h))
					for c := range d {
						sums[at+c] += p * get(values, int(r)*d+c)
					}
				}
			}
		}
	}
	k.sum = constant(o, 0)
	for i, v := range sums {
		set(k.sum, i, v)
	}
}
