package train

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/rl"
	"furlong/weightsync"
)

// A publication is every weight once, tables and frozen ones included, in order, as the bytes that the next pass reads.
func TestPublish(t *testing.T) {
	for _, format := range []dtype.Type{dtype.F32, dtype.BF16} {
		e := cpuEngine(t, settings(), format)
		mustStep(t, e, batch(1, 2, 4))
		w := e.Publish(rl.NewVersion(1, 7))
		if w.Version() != rl.NewVersion(1, 7) {
			t.Errorf("version is %v, want 1.7", w.Version())
		}
		all, err := weightsync.Collect(t.Context(), w, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range all {
			p := e.Params()[i]
			if got.Name != p.Name || got.Type != p.Value.Type.String() || !slices.Equal(got.Shape, p.Value.Shape) || string(got.Data) != string(p.Value.Mem) {
				t.Errorf("%v: tensor %d is %s, %s%v, want %s, %v, with its bytes", format, i, got.Name, got.Type, got.Shape, p.Name, p.Value)
			}
		}
		if len(all) != len(e.Params()) {
			t.Errorf("%v: %d tensors, want %d", format, len(all), len(e.Params()))
		}
		tables := 0
		for _, p := range e.Params() {
			if strings.HasSuffix(p.Name, "tid2eid") || strings.HasSuffix(p.Name, "e_score_correction_bias") || strings.Contains(p.Name, "indexer") {
				tables++
			}
		}
		if tables != 2+2+2*6 { // two layers of each router, two indexers of six tensors
			t.Errorf("%d frozen tensors among them, want 16", tables)
		}
	}
}

func TestPublicationStops(t *testing.T) {
	e := cpuEngine(t, settings(), dtype.F32)
	for range e.Publish(1).Buckets(t.Context()) {
		break // and nothing panics
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	n := 0
	for _, err := range e.Publish(1).Buckets(ctx) {
		if n++; !errors.Is(err, context.Canceled) {
			t.Errorf("after the end of the context: %v, want %v", err, context.Canceled)
		}
	}
	if n != 1 {
		t.Errorf("%d buckets, want an error alone", n)
	}
}

func TestDigest(t *testing.T) {
	m := actor(dtype.BF16, 1)
	want := Digest(m.Params())
	if got := Digest(actor(dtype.BF16, 1).Params()); got != want || len(want) != 64 {
		t.Errorf("digest is %s for the same weights, want %s", got, want)
	}
	for _, p := range m.Params() {
		for _, i := range []int{0, len(p.Value.Mem) / 2, len(p.Value.Mem) - 1} {
			p.Value.Mem[i] ^= 1
			if Digest(m.Params()) == want {
				t.Errorf("byte %d of %s does not show in the digest", i, p.Name)
			}
			p.Value.Mem[i] ^= 1
		}
	}
	swapped := slices.Clone(m.Params())
	swapped[0], swapped[1] = swapped[1], swapped[0]
	p := *m.Params()[0]
	p.Name += "x"
	renamed := slices.Clone(m.Params())
	renamed[0] = &p
	for name, got := range map[string]string{
		"order": Digest(swapped), "names": Digest(renamed), "a tensor less": Digest(m.Params()[1:]), "the format": Digest(actor(dtype.F32, 1).Params()),
	} {
		if got == want {
			t.Errorf("%s does not show in the digest", name)
		}
	}
	if Digest(m.Params()) != want {
		t.Error("digest changes what it reads")
	}
}

// A step changes the digest, a skipped one does not.
func TestDigestFollowsSteps(t *testing.T) {
	e := cpuEngine(t, settings(), dtype.BF16)
	before := Digest(e.Params())
	if _, err := e.Step(t.Context(), &rl.Batch{}); err != nil {
		t.Fatal(err)
	}
	if Digest(e.Params()) != before {
		t.Error("a step without samples changes the digest")
	}
	if mustStep(t, e, batch(1, 2, 4)); Digest(e.Params()) == before {
		t.Error("a step does not change the digest")
	}
}
