package rollout

import (
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kernels/ref"
	"furlong/rl"
	"furlong/tensor"
	"furlong/weightsync"
)

// An engine that is sound passes in every format, whatever it held, and then serves nothing until its next update.
func TestRehearse(t *testing.T) {
	for _, format := range formats {
		a := attest(t, format, ref.New[float32]())
		for range 2 { // the second time it holds noise
			sums, err := a.Rehearse(t.Context(), func() rl.Weights { return a.weights(2, 1<<14) })
			if err != nil {
				t.Fatalf("%s: %v", format, err)
			}
			if err := sums.Diff(a.want[2]); err != nil {
				t.Errorf("%s: the weights noted are not a cold load's: %v", format, err)
			}
			if a.Version() != 0 || a.Attestation().Version != 0 {
				t.Errorf("%s: version %v serves after a rehearsal", format, a.Version())
			}
		}
		a.update(a.weights(1, 1<<14))
		a.holds(format, 1)
		a.answers(format, 1)
	}
}

// stubborn derives a weight's layout only where there is none: what an engine does that keeps a packed copy.
type stubborn struct{ kernels.Backend }

func (s stubborn) Prepare(w *tensor.Tensor) {
	if w.Layout != nil && len(w.Shape) == 2 && w.Shape[0] == small().Vocab {
		return
	}
	s.Backend.Prepare(w)
}

// An engine that keeps something derived is found, though it attests the state that was sent.
func TestRehearsalFindsWhatIsKept(t *testing.T) {
	cfg := settings()
	cfg.CheckUpdates = false
	m := policy(dtype.F32, 1)
	r := beginOn(t, cfg, policy(dtype.F32, 2), stubborn{ref.New[float32]()})
	_, err := r.Rehearse(t.Context(), func() rl.Weights { return snapshot{version: 1, m: m} })
	if err == nil || !strings.Contains(err.Error(), "over noise") {
		t.Errorf("error is %v, want one about an update over noise", err)
	}
}

// A sender that sends other weights the second time is found.
func TestRehearsalFindsOtherWeights(t *testing.T) {
	a := attest(t, "bf16", ref.New[float32]())
	n := rl.Version(0)
	_, err := a.Rehearse(t.Context(), func() rl.Weights {
		n++
		return weightsync.Of(1, weightsync.Flatten(a.cold[n].Params()), weightsync.Everything)
	})
	if want := "an update over noise leaves some of it, first set of weights: rollout: version 1: "; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error is %v, want one with %q", err, want)
	}
	if _, err := a.Rehearse(t.Context(), func() rl.Weights {
		return damaged{a.weights(1, weightsync.OneTensor), "lm_head.weight", func(*rl.Chunk) bool { return false }}
	}); err == nil {
		t.Error("a rehearsal with damaged weights passes")
	}
}
