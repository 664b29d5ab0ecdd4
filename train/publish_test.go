package train

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/quant"
	"furlong/rl"
	"furlong/tensor"
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

// Publications in other formats are what packing a checkpoint of the actor gives, after each step anew.
func TestPublishAs(t *testing.T) {
	for _, name := range []string{"bf16", "fp8", "fp8+fp4", "fp8+fp4-weights", "fp8-f32scales"} {
		r, err := quant.ParseRecipe(name)
		if err != nil {
			t.Fatal(err)
		}
		e := cpuEngine(t, settings(), dtype.BF16)
		if err := e.PublishAs(r); err != nil {
			t.Fatal(err)
		}
		quantised, states := 0, map[rl.Digest]bool{}
		for v := rl.Version(1); v < 4; v++ {
			mustStep(t, e, batch(uint64(v), 2, 4))
			cold := actor(dtype.BF16, 7).Params() // of the same shapes; its values go
			if err := r.Apply(cold); err != nil {
				t.Fatal(err)
			}
			for i, p := range e.Params() {
				if cold[i].Value.Quantised() {
					quant.Pack(cold[i].Value, p.Value)
					quantised++
				} else {
					copy(cold[i].Value.Mem, p.Value.Mem)
				}
			}
			want := weightsync.SumsOf(cold)
			into := actor(dtype.BF16, 8).Params()
			if err := r.Apply(into); err != nil {
				t.Fatal(err)
			}
			if _, err := weightsync.Take(t.Context(), e.Publish(v), weightsync.Flatten(into), weightsync.Held{}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := weightsync.SumsOf(into).Diff(want); err != nil {
				t.Errorf("%s, version %v: %v", name, v, err)
			}
			states[want.State()] = true
		}
		if (name == "bf16") != (quantised == 0) || len(states) != 3 {
			t.Errorf("%s: %d weights were quantised, 3 versions have %d states", name, quantised, len(states))
		}
	}
}

// An actor that is quantised publishes its own codes to an engine of its format, and what they mean to any other.
func TestPublishAsOfAQuantisedActor(t *testing.T) {
	cfg := settings()
	cfg.Format = "fp8"
	e := cpuEngine(t, cfg, dtype.BF16)
	mustStep(t, e, batch(1, 2, 4))
	for _, name := range []string{"fp8", "fp8-weights", "bf16", "fp8+fp4"} {
		r, err := quant.ParseRecipe(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.PublishAs(r); err != nil {
			t.Fatal(err)
		}
		into := actor(dtype.BF16, 8).Params()
		if err := r.Apply(into); err != nil {
			t.Fatal(err)
		}
		if _, err := weightsync.Take(t.Context(), e.Publish(1), weightsync.Flatten(into), weightsync.Held{}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i, p := range e.Params() {
			mine, its := p.Value, into[i].Value
			if p.Value.Quantised() && quant.FormatOf(mine) != quant.FormatOf(its) {
				x := tensor.New(dtype.F32, mine.Shape...)
				quant.Unpack(x, mine)
				mine = its.Clone()
				if its.Quantised() {
					quant.Pack(mine, x)
				} else {
					quant.Unpack(mine, p.Value)
				}
			}
			if !same(mine, its) {
				t.Errorf("%s: %s is not what the actor's codes mean", name, p.Name)
			}
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
