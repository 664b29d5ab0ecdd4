package kernels

import "furlong/tensor"

// A Backend runs every kernel on one kind of device. Several goroutines may call one Backend at the same
// time on different tensors. Families keep it readable; one interface makes a missing kernel a compile error.
type Backend interface {
	Name() string // "ref", "cpu"

	// Prepare derives from w's values the layout that products read, and stores it in w.Layout. It must be called
	// after w is loaded, and again after every change of its values: then it rebuilds in the memory it has.
	// It is a pure function of the values, safe to run twice. A product whose weight was never prepared panics.
	Prepare(w *tensor.Tensor)

	// Split returns up to n backends, at least one, that share out what this one computes with: for passes that run at the same time, each on
	// its own rows. They read the layouts that this one prepared and give the same bits. While they work this one should rest.
	Split(n int) []Backend

	Linear
	Norm
	Attention
	Compress
	Hyper
	MoE
	Head
	Optimizer
}

// A Lender is a Backend for which a goroutine that waits for a pass on another part of its Split can work meanwhile.
type Lender interface {
	// Lend runs pieces of others' kernels until a channel is closed.
	Lend(until <-chan struct{})
}

// Await waits until a channel is closed. On a [Lender] it works for others meanwhile.
func Await(k Backend, until <-chan struct{}) {
	if l, ok := k.(Lender); ok {
		l.Lend(until)
	}
	<-until
}

// A Forker is a Backend whose threads take whole pieces of work, too. They stay awake for a moment after the last one, and begin at once: to wake a processor
// that sleeps takes a good part of the time that a pass over a few tokens does.
type Forker interface {
	// Fork calls f for 0 up to n, each once and several at a time, and returns when all have ended. No call may wait for another one. A panic of one
	// comes out, and then some may not have been made.
	Fork(n int, f func(i int))
}

// A Keeper is a Backend whose attention can keep its scores for the backward pass, which else computes them again. Kept or not, results are the same bits.
type Keeper interface {
	// Keeps returns how many numbers it wants to keep of a call, 0 if it had rather compute them again.
	Keeps(q *tensor.Tensor, heads int, views ...View) int
	// AttendKeeping is Attend, and writes to kept, which may be nil.
	AttendKeeping(o, lse, kept, q, sink *tensor.Tensor, heads int, views ...View)
	// AttendBackwardKept is AttendBackward after an AttendKeeping of the same arguments.
	AttendBackwardKept(dq, dsink *tensor.Tensor, dpool []*tensor.Tensor, do, o, lse, kept, q, sink *tensor.Tensor, heads int, views ...View)
}

// KeeperOf returns k if it is a [Keeper], or else one that keeps nothing.
func KeeperOf(k Backend) Keeper {
	if keeper, ok := k.(Keeper); ok {
		return keeper
	}
	return forgetful{k}
}

// forgetful is a Keeper that computes again.
type forgetful struct{ Backend }

func (forgetful) Keeps(*tensor.Tensor, int, ...View) int { return 0 }

func (k forgetful) AttendKeeping(o, lse, _, q, sink *tensor.Tensor, heads int, views ...View) {
	k.Attend(o, lse, q, sink, heads, views...)
}

func (k forgetful) AttendBackwardKept(dq, dsink *tensor.Tensor, dpool []*tensor.Tensor, do, o, lse, _, q, sink *tensor.Tensor, heads int, views ...View) {
	k.AttendBackward(dq, dsink, dpool, do, o, lse, q, sink, heads, views...)
}

// A Grower is a Backend that can prepare some weights while they are still being written.
type Grower interface {
	// Grow is Prepare for as much of w as follows from its first n elements. n is 0 first, which says whether w can be prepared so, then rises to
	// all; only then is the layout there. fresh is what has become final of the layout's only part: what Grow returns, one after
	// the other, is the layout's memory.
	Grow(w *tensor.Tensor, n int) (fresh []byte, ok bool)
}

// A View is a pool of rows and, for each query, the rows it reads, in position order: query t reads
// pool rows Rows[Lo[t]:Hi[t]]. Queries of one sequence share one run of Rows, so a View of
// a long sequence stays linear in its length.
type View struct {
	Pool   *tensor.Tensor // [R, D]
	Rows   []int32
	Lo, Hi []int32 // [T]
}

// At returns the pool rows that query t reads.
func (v View) At(t int) []int32 { return v.Rows[v.Lo[t]:v.Hi[t]] }

// Kernels named Backward, Combine and DispatchAdd add to gradients. One that is marked Fresh counts as zeros, whatever it holds, and
// loses the mark; the sign of a zero that comes out is open then.

// Linear holds products of activations and weights. Weights are F32, BF16 or quantised, activations F32. A weight gives the bits of its values in F32: BF16
// is widened exactly, and a quantised element is its code times its block's scale, rounded to F32. Of quantised weights there are E4M3 with E8M0 or F32
// scales and E2M1 (an even number of columns) with E8M0 scales, in blocks of any number of rows and a multiple of 16 columns.
type Linear interface {
	// Linear sets y = x·wᵀ for G independent blocks: y [T, G*N], x [T, G*K], w [G*N, K]: block g of y reads block g of x and
	// rows g*N up to (g+1)*N of w. groups is 1 for an ordinary product.
	Linear(y, x, w *tensor.Tensor, groups int)
	// LinearBackward adds dy·w to dx (each element's chain over ascending n starts from zero and is added once) and dyᵀ·x to dw
	// (each chain starts from dw and goes over ascending t).
	LinearBackward(dx, dw, dy, x, w *tensor.Tensor, groups int)

	// ExpertLinear sets rows off[e] up to off[e+1] of y = x·w[e]ᵀ: y [R, N], x [R, K], w [E, N, K], off [E+1]. Rows of one
	// expert are in token order.
	ExpertLinear(y, x, w *tensor.Tensor, off []int32)
	// ExpertLinearBackward is LinearBackward for each expert's rows.
	ExpertLinearBackward(dx, dw, dy, x, w *tensor.Tensor, off []int32)

	// Round sets the first cols columns of y [T, K] to the numbers that those of x [T, K] are packed to as E4M3, each group of consecutive ones (the
	// last may be shorter) under a power of two: the smallest at which nothing saturates, but not below 2^-22. In a group with a NaN
	// or an infinity all become NaN. The other columns are copied. y may be x.
	Round(y, x *tensor.Tensor, cols, group int)

	// Add sets y = a + b, elementwise; y may be a or b.
	Add(y, a, b *tensor.Tensor)
	// Zero sets every element of y to 0.
	Zero(y *tensor.Tensor)
	// Copy sets y = x, elementwise.
	Copy(y, x *tensor.Tensor)
	// Join sets each row of y to [a | b]: a [T, A], b [T, B], y [T, A+B].
	Join(y, a, b *tensor.Tensor)
	// JoinBackward adds the two parts of dy to da and db.
	JoinBackward(da, db, dy *tensor.Tensor)
}

// Norm holds the root-mean-square norm.
type Norm interface {
	// RMSNorm sets y = w * x*rho with rho = (mean(x*x)+eps)^(-1/2) for each run of dim elements. w [dim] is F32, or nil for
	// none. y may be x.
	RMSNorm(y, x, w *tensor.Tensor, dim int, eps float64)
	// RMSNormBackward adds to dx and dw (chain over ascending rows).
	RMSNormBackward(dx, dw, dy, x, w *tensor.Tensor, dim int, eps float64)
}

// Attention holds rotation and attention over views. There is one key-value head: a pool row is both key and value.
type Attention interface {
	// Angles sets cos and sin [T, P] of pos[t]*freq[p], P = len(freq). The product is taken in the tensors' own format.
	Angles(cos, sin *tensor.Tensor, pos []int32, freq []float32)
	// RoPE copies x to y and turns the pairs (2p, 2p+1) of the last 2P channels of every run of dim by the row's angles, backwards if
	// inverse. x and y are [T, heads*dim]; y may be x.
	RoPE(y, x, cos, sin *tensor.Tensor, dim int, inverse bool)
	// RoPEBackward adds the gradient: dy turned the other way. dx may be dy's memory if it is Fresh.
	RoPEBackward(dx, dy, cos, sin *tensor.Tensor, dim int, inverse bool)

	// Attend sets o = softmax over the rows of all views and the sink of q·row/sqrt(D), times rows; the sink has no
	// row. q and o are [T, H*D], sink [H], lse [T, H] the log of the softmax's sum. Views are visited in the order
	// given, rows in view order: dots by 8 lanes, the maximum over rows and sink, then Z by one
	// chain over rows in order with the sink's term last, then the values by one chain over rows, times 1/Z.
	Attend(o, lse, q, sink *tensor.Tensor, heads int, views ...View)
	// AttendBackward adds to dq, dsink and, for each view, to dpool (nil entries are skipped). A pool row's gradient is
	// one chain over the queries that read it, ascending, heads inside.
	AttendBackward(dq, dsink *tensor.Tensor, dpool []*tensor.Tensor, do, o, lse, q, sink *tensor.Tensor, heads int, views ...View)

	// IndexTopK returns, for each query, the k rows of keys with the largest sum over heads of w[t,h]*relu(q[t,h]·row), as a view over the
	// same pool whose rows stay in position order. On equal scores the earlier row wins. w [T, H] is taken times
	// heads^(-1/2)*Di^(-1/2). With k rows or fewer in sight all are kept.
	IndexTopK(q, w *tensor.Tensor, heads int, keys View, k int) View
}

// Compress holds gated pooling of windows.
type Compress interface {
	// Pool sets y[c] [C, D] to the pooled rows of window c. A raw row is [value | gate]. Plain (overlap false): 2D wide, window c pools own.At(c),
	// at most m rows; slot s adds bias[s] (bias [m, D]) to the gate. Overlapping: value and gate are 2D wide each, half a
	// and half b; window c pools half a of prev.At(c) (none for the first window), then half b of own.At(c), bias [m, 2D]
	// likewise. Each channel has its own softmax over slots: maximum, then one chain of exp over slots in order, then
	// one chain of exp*value, times 1/sum.
	Pool(y, bias *tensor.Tensor, overlap bool, prev, own View)
	// PoolBackward adds to draw (the gradient of the views' pool) and dbias (chain over ascending windows).
	PoolBackward(draw, dbias, dy, bias *tensor.Tensor, overlap bool, prev, own View)
}

// HyperParams are the constants of the hyper-connection maps.
type HyperParams struct {
	Iters   int     // Sinkhorn rounds
	Eps     float64 // added to pre, to the softmax, and to each denominator
	NormEps float64 // of the root mean square over all streams
}

// Hyper holds the hyper-connections (mHC) around each sub-layer. Streams x are [T, S, D]; maps are F32.
type Hyper interface {
	// HyperMap makes the maps of a site from z = x·fnᵀ, x [T, S*D] flat, z [T, S*(2+S)]: with u = z*rho of the row,
	// pre = sigmoid(u*scale[0]+base)+eps [T, S], post = 2*sigmoid(u*scale[1]+base) [T, S], comb [T, S, S] = Sinkhorn of softmax over the
	// second index + eps: one column step, then iters-1 times row step and column step; a step multiplies by 1/(sum+eps).
	// For the last collapse post and comb are nil, z is [T, S] and scale [1].
	HyperMap(pre, post, comb, z, x, base, scale *tensor.Tensor, p HyperParams)
	// HyperMapBackward adds to dz, dx (by way of rho), dbase and dscale; it recomputes the map.
	HyperMapBackward(dz, dx, dbase, dscale, dpre, dpost, dcomb, z, x, base, scale *tensor.Tensor, p HyperParams)

	// Collapse sets y[t] = sum over j of pre[t,j]*x[t,j]. y [T, D].
	Collapse(y, x, pre *tensor.Tensor)
	CollapseBackward(dx, dpre, dy, x, pre *tensor.Tensor)
	// Expand sets y[t,k] = post[t,k]*o[t] + sum over j of comb[t,j,k]*x[t,j]: the first index of comb is the source.
	// The chain is post's product, then j ascending. y [T, S, D], o [T, D]; y may be x.
	Expand(y, x, o, post, comb *tensor.Tensor)
	// ExpandBackward adds to each gradient that is not nil. A Fresh dx may lie where dy does.
	ExpandBackward(dx, do, dpost, dcomb, dy, x, o, post, comb *tensor.Tensor)
}

// MoE holds routing and the experts' elementwise part. A token has k slots; slot j of token t is number t*k+j.
type MoE interface {
	// TopExperts sets choice [T*k] to the k experts with the largest sqrt(softplus(logit))+bias, largest first; on equal
	// values the smaller expert. logits [T, E], bias [E] or nil.
	TopExperts(choice []int32, logits, bias *tensor.Tensor, k int)
	// RouteWeights sets w [T, k] = factor * s/(sum of s over the slots + 1e-20), s = sqrt(softplus(logit)) at the chosen experts; two slots may
	// name one expert.
	RouteWeights(w, logits *tensor.Tensor, choice []int32, factor float64)
	RouteWeightsBackward(dlogits, dw, logits *tensor.Tensor, choice []int32, factor float64)

	// Dispatch sets y[rows[t*k+j]] = x[t]. y [R, D]; rows of y that are not named keep what they hold.
	Dispatch(y, x *tensor.Tensor, rows []int32, k int)
	// Combine adds to y[t] the sum over j ascending of x[rows[t*k+j]] (chain of adds from zero, then one add). It is also Dispatch's backward.
	Combine(y, x *tensor.Tensor, rows []int32, k int)
	// DispatchAdd adds x[t] to y[rows[t*k+j]]: Combine's backward.
	DispatchAdd(y, x *tensor.Tensor, rows []int32, k int)

	// SwiGLU sets y = silu(min(gate, limit)) * clamp(up, -limit, limit) * w for gu = [gate | up]: [R, 2F] to [R, F]. w [R] scales rows
	// (nil for 1); limit <= 0 clamps nothing.
	SwiGLU(y, gu, w *tensor.Tensor, limit float64)
	// SwiGLUBackward adds to dgu and dw. A clamp passes the gradient inside and at its bound.
	SwiGLUBackward(dgu, dw, dy, gu, w *tensor.Tensor, limit float64)
}

// Head holds the two ends of the model.
type Head interface {
	// Embed sets y[t, s] = table[ids[t]] for every stream. y [T, S, D], table [V, D] F32 or BF16.
	Embed(y, table *tensor.Tensor, ids []int32)
	// EmbedBackward adds to dtable; a row's chain goes over ascending t, streams summed first.
	EmbedBackward(dtable, dy *tensor.Tensor, ids []int32)
	// Gather sets y[r] = x[rows[r]].
	Gather(y, x *tensor.Tensor, rows []int32)
	// GatherBackward adds dy[r] to dx[rows[r]], r ascending.
	GatherBackward(dx, dy *tensor.Tensor, rows []int32)

	// LogProb sets lp[r] = log-softmax(logits[r]*scale[r])[next[r]], entropy[r] (nil if not wanted) of that distribution and lse[r] the
	// log of its sum. logits [R, V]; scale is the inverse temperature.
	LogProb(lp, entropy, lse, logits *tensor.Tensor, next []int32, scale []float32)
	// LogProbBackward overwrites dlogits [R, V] (it may be logits) with dlp*(onehot-p)*scale - dentropy*p*(log p + entropy)*scale; dentropy may be nil.
	LogProbBackward(dlogits, dlp, dentropy, entropy, lse, logits *tensor.Tensor, next []int32, scale []float32)
}

// Optimizer holds the step of a trainer.
type Optimizer interface {
	// AdamW takes one step on weights w with gradients g and moments m and v, all of one length, element by element. No product is fused with a sum.
	AdamW(w, m, v, g []float32, s AdamWStep)
}

// An AdamWStep is the constants of a step, in which d = g*Clip, m = B1*m + C1*d, v = B2*v + C2*(d*d) and
// w = Keep*w - LR*m/(sqrt(v)*Root2 + Eps).
type AdamWStep struct {
	B1, B2, C1, C2, LR, Keep, Root2, Eps, Clip float32
}
