package ops

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"furlong/kernels"
	"furlong/tensor"
)

// Streams are made once, whoever reads them first: a second time would mix those that took the place of the old ones. What a watch writes over them stays.
func TestStreamsAreMadeOnce(t *testing.T) {
	const s, d = 2, 3
	a, r := arithmetics[0], rand.New(rand.NewPCG(3, 4))
	vector := func(n int) *tensor.Param { return &tensor.Param{Value: a.normal(r, n)} }
	w := SiteWeights{a.matrix(r, s*(2+s), s*d), vector(s * (2 + s)), vector(3), kernels.HyperParams{Iters: 3, Eps: 1e-3, NormEps: 1e-3}}
	x, o := a.normal(r, siteRows+2, s, d), a.normal(r, siteRows+2, d)
	leave := func(c *Ctx) *Streams { return Enter(c, StreamsOf(x.Clone()), w, true).Leave(c, o) }
	c := a.ctx()
	want := leave(c).Tensor(c)
	for name, read := range map[string]func(c *Ctx, y *Streams){
		"Tensor": func(c *Ctx, y *Streams) { y.Tensor(c) },
		"Enter":  func(c *Ctx, y *Streams) { Enter(c, y, w, true) },
	} {
		c := a.ctx()
		c.renew = true
		y := leave(c)
		read(c, y)
		if !bytes.Equal(y.Tensor(c).Mem, want.Mem) {
			t.Errorf("%s read the streams, and then they have other bits", name)
		}
	}
	c.Watch = func(_ int, _ string, x *tensor.Tensor, _ []int32) {
		if !bytes.Equal(x.Mem, want.Mem) {
			t.Error("a watch is shown other streams")
		}
		x.Zero()
	}
	y := leave(c)
	c.SeeStreams("streams", y)
	Enter(c, y, w, true)
	if !bytes.Equal(y.Tensor(c).Mem, make([]byte, len(want.Mem))) {
		t.Error("streams are made again over what a watch wrote")
	}
}
