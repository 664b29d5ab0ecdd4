package rollout

import (
	"runtime"
	"sync"
	"sync/atomic"

	"furlong/rollout/sample"
	"furlong/tensor"
)

// drawers draw the rows of a pass on several cores. A row's token depends on that row alone, so it does not matter who draws it.
type drawers struct {
	each []sample.Drawer
	next atomic.Int64 // row that nobody has claimed
}

// drawerNumbers is how many logits are worth a goroutine: about 50 microseconds.
const drawerNumbers = 1 << 13

func newDrawers() *drawers { return &drawers{each: make([]sample.Drawer, runtime.GOMAXPROCS(0))} }

// rows calls f for each row below n, v logits long.
func (d *drawers) rows(n, v int, f func(d *sample.Drawer, row int)) {
	d.next.Store(0)
	work := func(own *sample.Drawer) {
		for i := int(d.next.Add(1)) - 1; i < n; i = int(d.next.Add(1)) - 1 {
			f(own, i)
		}
	}
	var others sync.WaitGroup
	for i := 1; i < min(len(d.each), n, n*v/drawerNumbers); i++ {
		others.Go(func() { work(&d.each[i]) })
	}
	work(&d.each[0])
	others.Wait()
}

// choose draws a token for each row and returns its logprob after temperature, over the whole vocabulary: by the kernel that the
// trainer's comes from.
func (e *Engine) choose(logits *tensor.Tensor) []float32 {
	p, v, n := &e.pass, logits.Dim(), len(e.pass.ends)
	p.next, p.drawn = resize(p.next, n), resize(p.drawn, n)
	values := logits.F32()
	e.draw.rows(n, v, func(d *sample.Drawer, i int) {
		s := p.ends[i].sample
		p.next[i], p.drawn[i].trunc, p.drawn[i].err = d.Draw(values[i*v:][:v], s.Sampling, len(s.Response))
	})
	p.scale = p.scale[:0]
	for _, r := range p.ends {
		p.scale = append(p.scale, r.scale)
	}
	lp, lse := e.ctx.New(n), e.ctx.New(n)
	e.ctx.K.LogProb(lp, nil, lse, logits, p.next, p.scale)
	return lp.F32()
}

func resize[E any](s []E, n int) []E {
	if cap(s) < n {
		return make([]E, n)
	}
	return s[:n]
}
