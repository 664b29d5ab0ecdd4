package train

import (
	"fmt"
	"slices"
	"testing"

	"furlong/dtype"
)

// Samples that are told where their tokens went have the choices of the pass that gave their logprobs, however the batch is cut, and nothing else changes by a bit.
func TestTell(t *testing.T) {
	quiet := settings()
	quiet.FreezeGate = false
	e := refEngine(t, quiet, dtype.BF16)
	plain := batch(1, 2, 3)
	want := mustStep(t, e, plain)
	for _, v := range []struct {
		budget            int
		recompute, scored bool
	}{{1, true, false}, {50, false, true}, {100_000, true, false}, {100_000, false, false}} {
		c := quiet
		c.Tell, c.MaxTokens, c.Recompute = true, v.budget, v.recompute
		b, got, other := batch(1, 2, 3), cpuEngine(t, c, dtype.BF16), batch(1, 2, 3)
		record(actor(dtype.BF16, 1), other.Samples, own)
		if v.scored {
			if err := got.Score(t.Context(), b.Samples); err != nil {
				t.Fatal(err)
			}
		}
		for name, x := range mustStep(t, got, b) {
			if want[name] != x {
				t.Errorf("%v: %s is %v, want %v", v, name, x, want[name])
			}
		}
		wantSame(t, fmt.Sprint("state ", v), state(got), state(e))
		for i, s := range b.Samples {
			if s.TrainExperts == nil || !slices.Equal(s.TrainExperts.Rows, other.Samples[i].Experts.Rows) {
				t.Errorf("%v: sample %d went to %v, want %v", v, i, s.TrainExperts, other.Samples[i].Experts)
			}
		}
		first := b.Samples[0].TrainExperts
		if mustStep(t, got, b); b.Samples[0].TrainExperts != first {
			t.Errorf("%v: a later step told its own choices", v)
		}
	}
	for _, s := range plain.Samples {
		if s.TrainExperts != nil {
			t.Error("nobody asked, and experts are told")
		}
	}
}

// What is told is the trainer's own choice, also where the rollout engine's takes its place.
func TestTellUnderReplay(t *testing.T) {
	c := replaying(true)
	c.Tell, c.Replay.Entries = true, false
	m, b, plain := actor(dtype.F32, 1), batch(1, 2, 3), batch(1, 2, 3)
	record(m, plain.Samples, own)
	change := others(m)
	record(m, b.Samples, func(layer int, routes, _ []int32) { change(layer, routes, nil) })
	stats := mustStep(t, cpuEngine(t, c, dtype.F32), b)
	learned := 0
	for m.Hashed(learned) {
		learned++
	}
	differ := 0
	for i, s := range b.Samples {
		for token := range s.TrainExperts.Len() { // up to the first layer that was changed all is as without
			got, want := s.TrainExperts.At(nil, token, learned), plain.Samples[i].Experts.At(nil, token, learned)
			if !slices.Equal(got, want) {
				t.Fatalf("sample %d, token %d: the trainer chose %v, told is %v", i, token, want, got)
			}
			if !slices.Equal(got, s.Experts.At(nil, token, learned)) {
				differ++
			}
		}
	}
	if differ == 0 || stats["moe/router_agreement_used"] != 1 {
		t.Errorf("%d tokens differ, agreement of what was used %v, want some and 1", differ, stats["moe/router_agreement_used"])
	}
}
