package rollout

import (
	"errors"
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/kernels/cpu"
	"furlong/tensor"
	"furlong/weightsync"
)

// A layout that grows behind its weight has the digest of one that was made at once; what never came whole has none.
func TestDerivationFollows(t *testing.T) {
	k := cpu.Open(cpu.Options{Threads: 2, Sleepy: true})
	t.Cleanup(k.Close)
	p := &tensor.Param{Name: "w", Value: tensor.New(dtype.BF16, 200, 700), Product: true}
	for i := range p.Value.BF16() {
		p.Value.BF16()[i] = uint16(i * 7)
	}
	fresh := p.Value.Clone()
	k.Prepare(fresh)
	bytes := len(p.Value.Mem)
	for _, steps := range [][]int{{bytes}, {0, bytes}, {0, 1 << 16, 2 << 16, bytes}, {0, 1 << 16, 0, 1 << 16, 3 << 16, bytes}} {
		d := derivationOf(k, []*tensor.Param{p})
		for _, n := range steps[:len(steps)-1] {
			d.follow("w", n)
		}
		d.follow("a stranger", 3)
		if _, err := d.end(); err == nil || !strings.Contains(err.Error(), "w: its layout was not derived") {
			t.Errorf("%v: before its last bytes, error is %v", steps, err)
		}
		d.follow("w", bytes)
		layouts, err := d.end()
		if got, want := layouts["w"], weightsync.LayoutDigest(fresh.Layout); err != nil || got != want {
			t.Errorf("%v: digest is %v, want %v, %v", steps, got, want, err)
		}
	}
	bad := &tensor.Param{Name: "w", Value: tensor.New(dtype.I32, 20, 70), Product: true}
	d := derivationOf(k, []*tensor.Param{bad})
	d.follow("w", len(bad.Value.Mem))
	if _, err := d.end(); err == nil || !strings.Contains(err.Error(), "w: its layout: prepare: weight is I32") || errors.Unwrap(err) == nil {
		t.Errorf("of a weight that has no layout, error is %v", err)
	}
}
