package cpu

import (
	"furlong/kernels/cpu/asm"
	"furlong/kernels/ref"
	"furlong/tensor"
)

// Work of one logit: an exponential, and two passes.
const logitCost = 30

// LogProb sets lp, entropy and lse; see [furlong/kernels.Head].
func (b *Backend) LogProb(lp, entropy, lse, logits *tensor.Tensor, next []int32, scale []float32) {
	rows, vocab := logits.Shape[0], wide(logits)
	if !b.whole(vocab) {
		b.Backend.LogProb(lp, entropy, lse, logits, next, scale)
		return
	}
	const kernel = "logprob"
	want(kernel, "lp", lp, rows, 1)
	wantMaybe(kernel, "entropy", entropy, rows, 1)
	want(kernel, "lse", lse, rows, 1)
	wantLen(kernel, "next", len(next), rows)
	wantLen(kernel, "scale", len(scale), rows)
	toLP, toEntropy, toLSE, in := lp.F32(), values(entropy), lse.F32(), logits.F32()
	b.each(rows, vocab*logitCost, func(lo, hi int, _ *scratch) {
		var sums [3]float32 // maximum, Z, dot of e and a
		for r := lo; r < hi; r++ {
			x := in[r*vocab:][:vocab]
			asm.LogProb(&sums[0], &x[0], vocab, scale[r])
			m, z, logZ := sums[0], sums[1], ref.Log(sums[1])
			toLP[r] = float32(float32(x[next[r]]*scale[r])-m) - logZ
			toLSE[r] = m + logZ
			if toEntropy != nil {
				toEntropy[r] = logZ - sums[2]/z
			}
		}
	})
}

// LogProbBackward sets dlogits; see [furlong/kernels.Head].
func (b *Backend) LogProbBackward(dlogits, dlp, dentropy, entropy, lse, logits *tensor.Tensor, next []int32, scale []float32) {
	rows, vocab := logits.Shape[0], wide(logits)
	if !b.whole(vocab) {
		b.Backend.LogProbBackward(dlogits, dlp, dentropy, entropy, lse, logits, next, scale)
		return
	}
	const kernel = "logprob backward"
	want(kernel, "dlogits", dlogits, rows, vocab)
	want(kernel, "dlp", dlp, rows, 1)
	want(kernel, "lse", lse, rows, 1)
	if dentropy != nil {
		want(kernel, "dentropy", dentropy, rows, 1)
		want(kernel, "entropy", entropy, rows, 1)
	}
	wantLen(kernel, "next", len(next), rows)
	wantLen(kernel, "scale", len(scale), rows)
	out, in, gl, ge, logs, ent := dlogits.F32(), logits.F32(), dlp.F32(), values(dentropy), lse.F32(), values(entropy)
	b.each(rows, vocab*logitCost, func(lo, hi int, _ *scratch) {
		for r := lo; r < hi; r++ {
			g := logitGrad{scale: scale[r], lse: logs[r], dlp: gl[r], entropy: ge != nil}
			if g.entropy {
				g.dent, g.ent = ge[r], ent[r]
			}
			g.row(out[r*vocab:][:vocab], in[r*vocab:][:vocab], int(next[r]))
		}
	})
}

// A logitGrad is what one row's gradient is made of.
type logitGrad struct {
	scale, lse, dlp, dent, ent float32
	entropy                    bool
}

// row sets dx, which may be x. The assembly takes no token for the next; that one is put right here.
func (g *logitGrad) row(dx, x []float32, next int) {
	logit := x[next]
	asm.LogProbGrad(&dx[0], &x[0], len(x), g.scale, g.lse, g.dlp, g.dent, g.ent, bit(g.entropy))
	l := float32(logit*g.scale) - g.lse
	p := ref.Exp(l)
	d := g.dlp * (1 - p)
	if g.entropy && p != 0 {
		d = ref.FMA(-g.dent, float32(p*(l+g.ent)), d)
	}
	dx[next] = d * g.scale
}
