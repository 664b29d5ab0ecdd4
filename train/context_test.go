package train

import (
	"fmt"
	"slices"
	"testing"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kernels/cpu"
	"furlong/kernels/ref"
	"furlong/tensor"
	"furlong/train/loss"
)

// A sharing says which rows of n each context parallel rank has, ascending.
type sharing func(n int) [][]int32

// endToEnd gives each rank a run of rows.
func endToEnd(ranks int) sharing {
	return func(n int) [][]int32 {
		out := make([][]int32, ranks)
		for i := range n {
			out[i*ranks/n] = append(out[i*ranks/n], int32(i))
		}
		return out
	}
}

// zigzag cuts rows into twice as many chunks as ranks and gives rank k the chunks k and 2*ranks-1-k, so that ranks have alike many rows to read.
func zigzag(ranks int) sharing {
	chunks := endToEnd(2 * ranks)
	return func(n int) [][]int32 {
		c, out := chunks(n), make([][]int32, ranks)
		for k := range out {
			out[k] = slices.Concat(c[k], c[2*ranks-1-k])
		}
		return out
	}
}

// contextual is a backend that computes as context parallel ranks would. Each rank is given its own rows, in tensors of their own, and what others' rows have to be
// read of them (pools of keys, values and windows): that is what ranks gather. Rows of gradients are each rank's own. What rows add to in common (pools, weights) each
// rank sums by itself, from zero, and the sums are added in the order of ranks. Products with experts are not cut: their rows are brought together from all
// ranks in any case. Kernels that are not here compute each row from that row alone and add to nothing in common.
type contextual struct {
	kernels.Backend
	share sharing
	calls map[string]int // with more than one rank at work; of one goroutine
}

func (k *contextual) Split(int) []kernels.Backend { return []kernels.Backend{k} }

// ranks calls f with the rows of each rank that has some.
func (k *contextual) ranks(kernel string, n int, f func(rows []int32)) {
	busy := 0
	for _, rows := range k.share(n) {
		if len(rows) > 0 {
			busy++
			f(rows)
		}
	}
	if busy > 1 {
		k.calls[kernel]++
	}
}

// some returns a copy of rows of x, nil for nil.
func some(x *tensor.Tensor, rows []int32) *tensor.Tensor {
	if x == nil {
		return nil
	}
	y := tensor.New(x.Type, append([]int{len(rows)}, x.Shape[1:]...)...)
	for i, r := range rows {
		copy(y.Slice(i, i+1).Mem, x.Slice(int(r), int(r)+1).Mem)
	}
	return y
}

// back puts a copy of rows back into x.
func back(x, y *tensor.Tensor, rows []int32) {
	if x == nil {
		return
	}
	for i, r := range rows {
		copy(x.Slice(int(r), int(r)+1).Mem, y.Slice(i, i+1).Mem)
	}
}

// seen returns what the queries of rows see, of the same pool.
func seen(v kernels.View, rows []int32) kernels.View {
	if v.Pool == nil {
		return v
	}
	out := kernels.View{Pool: v.Pool, Rows: v.Rows}
	for _, r := range rows {
		out.Lo, out.Hi = append(out.Lo, v.Lo[r]), append(out.Hi, v.Hi[r])
	}
	return out
}

func seenAll(views []kernels.View, rows []int32) []kernels.View {
	var out []kernels.View
	for _, v := range views {
		out = append(out, seen(v, rows))
	}
	return out
}

// begun makes gradients that nothing has been added to zeros.
func begun(grads ...*tensor.Tensor) {
	for _, g := range grads {
		if g != nil && g.Fresh {
			g.Zero()
			g.Fresh = false
		}
	}
}

// sum returns a rank's own sum for g.
func sum(g *tensor.Tensor) *tensor.Tensor {
	if g == nil {
		return nil
	}
	return tensor.New(g.Type, g.Shape...)
}

// reduce adds a rank's sum to g.
func (k *contextual) reduce(g, own *tensor.Tensor) {
	if g != nil {
		k.Backend.Add(g, g, own)
	}
}

func (k *contextual) Linear(y, x, w *tensor.Tensor, groups int) {
	k.ranks("linear", y.Shape[0], func(rows []int32) {
		out := some(y, rows)
		k.Backend.Linear(out, some(x, rows), w, groups)
		back(y, out, rows)
	})
}

func (k *contextual) LinearBackward(dx, dw, dy, x, w *tensor.Tensor, groups int) {
	begun(dx, dw)
	k.ranks("linear backward", dy.Shape[0], func(rows []int32) {
		in, own := some(dx, rows), sum(dw)
		k.Backend.LinearBackward(in, own, some(dy, rows), some(x, rows), w, groups)
		back(dx, in, rows)
		k.reduce(dw, own)
	})
}

func (k *contextual) RMSNormBackward(dx, dw, dy, x, w *tensor.Tensor, dim int, eps float64) {
	begun(dx, dw)
	k.ranks("norm backward", dy.Shape[0], func(rows []int32) {
		in, own := some(dx, rows), sum(dw)
		k.Backend.RMSNormBackward(in, own, some(dy, rows), some(x, rows), w, dim, eps)
		back(dx, in, rows)
		k.reduce(dw, own)
	})
}

func (k *contextual) Attend(o, lse, q, sink *tensor.Tensor, heads int, views ...kernels.View) {
	k.ranks("attend", q.Shape[0], func(rows []int32) {
		out, logs := some(o, rows), some(lse, rows)
		k.Backend.Attend(out, logs, some(q, rows), sink, heads, seenAll(views, rows)...)
		back(o, out, rows)
		back(lse, logs, rows)
	})
}

func (k *contextual) AttendBackward(dq, dsink *tensor.Tensor, dpool []*tensor.Tensor, do, o, lse, q, sink *tensor.Tensor, heads int, views ...kernels.View) {
	begun(append(dpool, dq, dsink)...)
	k.ranks("attend backward", q.Shape[0], func(rows []int32) {
		in, own, pools := some(dq, rows), sum(dsink), make([]*tensor.Tensor, len(dpool))
		for i := range pools {
			pools[i] = sum(dpool[i])
		}
		k.Backend.AttendBackward(in, own, pools, some(do, rows), some(o, rows), some(lse, rows), some(q, rows), sink, heads, seenAll(views, rows)...)
		back(dq, in, rows)
		k.reduce(dsink, own)
		for i := range pools {
			k.reduce(dpool[i], pools[i])
		}
	})
}

func (k *contextual) IndexTopK(q, w *tensor.Tensor, heads int, keys kernels.View, most int) kernels.View {
	out := kernels.View{Pool: keys.Pool, Lo: make([]int32, len(keys.Lo)), Hi: make([]int32, len(keys.Lo))}
	k.ranks("index", q.Shape[0], func(rows []int32) {
		part := k.Backend.IndexTopK(some(q, rows), some(w, rows), heads, seen(keys, rows), most)
		for i, r := range rows {
			out.Lo[r] = int32(len(out.Rows))
			out.Rows = append(out.Rows, part.At(i)...)
			out.Hi[r] = int32(len(out.Rows))
		}
	})
	return out
}

func (k *contextual) Pool(y, bias *tensor.Tensor, overlap bool, prev, own kernels.View) {
	k.ranks("pool", y.Shape[0], func(rows []int32) {
		out := some(y, rows)
		k.Backend.Pool(out, bias, overlap, seen(prev, rows), seen(own, rows))
		back(y, out, rows)
	})
}

func (k *contextual) PoolBackward(draw, dbias, dy, bias *tensor.Tensor, overlap bool, prev, own kernels.View) {
	begun(draw, dbias)
	k.ranks("pool backward", dy.Shape[0], func(rows []int32) {
		raw, b := sum(draw), sum(dbias)
		k.Backend.PoolBackward(raw, b, some(dy, rows), bias, overlap, seen(prev, rows), seen(own, rows))
		k.reduce(draw, raw)
		k.reduce(dbias, b)
	})
}

func (k *contextual) HyperMapBackward(dz, dx, dbase, dscale, dpre, dpost, dcomb, z, x, base, scale *tensor.Tensor, p kernels.HyperParams) {
	begun(dz, dx, dbase, dscale)
	k.ranks("hyper map backward", z.Shape[0], func(rows []int32) {
		inZ, inX, b, s := some(dz, rows), some(dx, rows), sum(dbase), sum(dscale)
		k.Backend.HyperMapBackward(inZ, inX, b, s, some(dpre, rows), some(dpost, rows), some(dcomb, rows), some(z, rows), some(x, rows), base, scale, p)
		back(dz, inZ, rows)
		back(dx, inX, rows)
		k.reduce(dbase, b)
		k.reduce(dscale, s)
	})
}

func (k *contextual) EmbedBackward(dtable, dy *tensor.Tensor, ids []int32) {
	begun(dtable)
	k.ranks("embed backward", dy.Shape[0], func(rows []int32) {
		own, mine := sum(dtable), make([]int32, len(rows))
		for i, r := range rows {
			mine[i] = ids[r]
		}
		k.Backend.EmbedBackward(own, some(dy, rows), mine)
		k.reduce(dtable, own)
	})
}

// A step whose rows are shared out among context parallel ranks is the step of one: every bit of its logprobs and its loss, and gradients but for how their sums
// over tokens are grouped. Micro-batches of one sequence are cut as a rank cuts it, micro-batches of several across them.
func TestContextParallelRanks(t *testing.T) {
	long(t)
	fast := cpu.New(1)
	defer fast.Close()
	for _, tt := range []struct {
		name   string
		k      kernels.Backend
		share  sharing
		budget int
		again  bool // layers are computed again for the gradient
	}{
		{"one", fast, endToEnd(1), 1, false},
		{"two, end to end", fast, endToEnd(2), 1, false},
		{"two, zigzag", fast, zigzag(2), 1, false},
		{"two, zigzag, packed, again", fast, zigzag(2), 60, true},
		{"four, zigzag, packed", fast, zigzag(4), 100_000, false},
		{"two, zigzag, plain backend", ref.New[float32](), zigzag(2), 60, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := withLoss(func(c *loss.Config) { c.Entropy = 0.01 })
			c.MaxTokens, c.Recompute, c.FreezeGate = tt.budget, tt.again, false
			k := &contextual{tt.k, tt.share, map[string]int{}}
			whole, parts := batch(1, 3, 4), batch(1, 3, 4)
			want := oneRank(t, engine(t, c, actor(dtype.BF16, 1), tt.k), whole)
			got := oneRank(t, engine(t, c, actor(dtype.BF16, 1), k), parts)
			if got.sums != want.sums {
				t.Errorf("sums are %+v, want %+v", got.sums, want.sums)
			}
			for i, s := range parts.Samples {
				if fmt.Sprint(s.TrainLogProbs, s.Entropy) != fmt.Sprint(whole.Samples[i].TrainLogProbs, whole.Samples[i].Entropy) {
					t.Errorf("logprobs and entropies of sample %d are %v %v, want %v %v", i, s.TrainLogProbs, s.Entropy, whole.Samples[i].TrainLogProbs, whole.Samples[i].Entropy)
				}
			}
			got.wantClose(t, tt.name, want, regrouped)
			if n := len(k.calls); n != 10 && tt.name != "one" {
				t.Errorf("kernels that ranks shared: %v, want all 10", k.calls)
			}
		})
	}
}
