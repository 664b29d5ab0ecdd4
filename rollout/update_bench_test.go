package rollout

import (
	"os"
	"testing"

	"furlong/dtype"
	"furlong/kernels/cpu"
	"furlong/model/dsv4"
	"furlong/rl"
	"furlong/weightsync"
)

// BenchmarkUpdate takes an update of a model of 217 million parameters apart. Everything is to be held against copying its bytes once.
func BenchmarkUpdate(b *testing.B) {
	if testing.Short() {
		b.Skip("two gigabytes of weights")
	}
	data, err := os.ReadFile("../bench/models/mid.json")
	if err != nil {
		b.Fatal(err)
	}
	cfg, err := dsv4.ReadConfig(data)
	if err != nil {
		b.Fatal(err)
	}
	k := cpu.Open(cpu.Options{})
	b.Cleanup(k.Close)
	m := dsv4.New(cfg, dtype.BF16)
	m.Init(1)
	set := Default()
	set.MaxRunning, set.Context = 2, 256
	e := beginOn(b, set, dsv4.New(cfg, dtype.BF16), k)
	flat := weightsync.Flatten(m.Params())
	bytes := int64(0)
	for _, t := range flat {
		bytes += int64(len(t.Mem))
	}
	run := func(name string, f func() error) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(bytes)
			for b.Loop() {
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	of := func(bucket int) rl.Weights { return weightsync.Of(1, flat, bucket) }
	for range 3 { // until both sets of weights have all their memory
		e.update(of(weightsync.Everything))
	}
	run("copy", func() error {
		for i, t := range weightsync.Flatten(e.staged) {
			copy(t.Mem, flat[i].Mem)
		}
		return nil
	})
	run("manifest", func() error { _, err := of(0).Manifest(b.Context()); return err })
	whole := of(weightsync.Everything)
	run("take", func() error {
		_, err := weightsync.Take(b.Context(), whole, weightsync.Flatten(e.staged), weightsync.Held{})
		return err
	})
	run("derive", func() error { return e.derive(e.staged) })
	sums := weightsync.SumsOf(m.Params())
	run("effective", func() error { sums.Derived(e.staged).Effective(); return nil })
	run("canary", func() (err error) {
		gone := e.do(b.Context(), func() { _, err = e.canary() })
		if gone != nil {
			return gone
		}
		return err
	})
	run("cold", e.cold)
	for name, bucket := range map[string]int{"everything": weightsync.Everything, "1MiB": 1 << 20, "1KiB": 1 << 10} {
		run("update/"+name, func() error { return e.UpdateWith(b.Context(), of(bucket), UpdateOptions{}) })
	}
}
