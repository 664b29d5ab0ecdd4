package rollout

import (
	"sync"
	"sync/atomic"

	"furlong/rollout/sample"
)

// drawers draw the rows of a lane on several cores. A row's token depends on that row alone, so it does not matter who draws it.
type drawers struct {
	each []sample.Drawer
	next atomic.Int64 // row that nobody has claimed
}

// drawerNumbers is how many logits are worth a goroutine: about 50 microseconds.
const drawerNumbers = 1 << 13

func newDrawers(n int) *drawers { return &drawers{each: make([]sample.Drawer, n)} }

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

func resize[E any](s []E, n int) []E {
	if cap(s) < n {
		return make([]E, n)
	}
	return s[:n]
}
