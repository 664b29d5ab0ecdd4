package train

import (
	"sync/atomic"
	"testing"

	"furlong/kernels/ref"
	"furlong/ops"
	"furlong/tensor"
)

// A lender is a part of a backend that counts how often somebody works for the others.
type lender struct {
	*ref.Backend[float32]
	lent *atomic.Int32
}

func (l lender) Lend(until <-chan struct{}) {
	l.lent.Add(1)
	<-until
}

// A lane without micro-batches left works for the others until all are done, also where one has failed.
func TestLanesWorkForOthers(t *testing.T) {
	for _, bad := range []bool{false, true} {
		var ls lanes
		lent := new(atomic.Int32)
		for range 3 {
			ls.split = append(ls.split, &lane{k: lender{ref.New[float32](), lent}, mem: &tensor.Arena{}})
		}
		b := batch(1, 2, 4)
		err := ls.run(t.Context(), "note", b.Samples, 1, func(_ *lane, _ *ops.Turn, p pass) {
			if bad && p.samples[0] == b.Samples[4] {
				panic("broken")
			}
		})
		if (err != nil) != bad {
			t.Errorf("micro-batches end with %v, want an error: %v", err, bad)
		}
		if n := int(lent.Load()); n != len(ls.split) {
			t.Errorf("%d lanes worked for others at the end, want %d", n, len(ls.split))
		}
	}
}
