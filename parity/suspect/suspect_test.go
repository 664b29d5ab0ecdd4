package suspect_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kernels/cpu"
	"furlong/kernels/ref"
	"furlong/model"
	"furlong/model/dsv4"
	"furlong/ops"
	"furlong/parity/diverge"
	"furlong/parity/paritytest"
	"furlong/parity/suspect"
	"furlong/parity/taps"
	"furlong/quant"
	"furlong/tensor"
)

// unplanted are mistakes that no test plants: others of a kind that is planted, and one for a configuration that none has here.
var unplanted = []string{
	"norms with eps 1e-6", "vocabulary padded to a multiple of 128", "vocabulary padded to a multiple of 256",
	"logprobs at temperature 0.5", "logprobs at temperature 0.6", "logprobs at temperature 0.7", "logprobs at temperature 0.9", "logprobs at temperature 1.2",
	"positions held at 1023", "positions held at 2047", "positions held at 4095", "positions held at 8191", "positions held at 16383", "positions held at 32767", "positions held at 65535",
}

// Every mistake of the library is planted by somebody else, or listed as one that is not; all say what they are, where, and as an end of a sentence.
func TestLibrary(t *testing.T) {
	var names []string
	for _, s := range suspect.All() {
		name, says := s.Name(), s.Says()
		if name == "" || strings.HasSuffix(says, ".") || len(strings.Fields(says)) < 3 || strings.ToLower(says[:1]) != says[:1] {
			t.Errorf("%q says %q, want what completes a sentence", name, says)
		}
		if len(s.Ops()) == 0 {
			t.Errorf("%q can show anywhere, want its boundaries", name)
		}
		for _, op := range s.Ops() {
			if _, ok := taps.BoundaryOf(op); !ok {
				t.Errorf("%q shows at %q, which is no boundary", name, op)
			}
		}
		if slices.Contains(names, name) && len(s.Ops()) > 1 {
			t.Errorf("%q is there twice", name)
		}
		names = append(names, name)
	}
	known := append([]string{"no FP8 cache"}, unplanted...)
	for _, name := range explained {
		known = append(known, name)
		if !slices.Contains(names, name) {
			t.Errorf("%q is expected of the library, which has no such mistake", name)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			t.Errorf("%q is planted by no test", name)
		}
	}
}

// Planting leaves the judge as it was, and works on every backend and format of weights: a pass of the planted judge runs, and the judge's own results are the same
// bits afterwards.
func TestPlantingLeavesTheJudgeAlone(t *testing.T) {
	fast := cpu.New(1)
	defer fast.Close()
	cfg := paritytest.Shapes()[0]
	wide := dsv4.New(cfg, dtype.F64)
	for i, p := range paritytest.New(cfg, 1, fast, quant.Recipe{}).Model.Params() {
		widen(wide.Params()[i].Value, p.Value)
	}
	exact := ref.New[float64]()
	model.Prepare(ops.NewCtx(exact, &tensor.Arena{}, dtype.F64), wide)
	for _, j := range []taps.Judge{
		{Model: paritytest.New(cfg, 1, fast, quant.Recipe{}).Model, Backend: fast},
		{Model: paritytest.New(cfg, 1, fast, paritytest.Small(true)).Model, Backend: fast, FP8: true},
		{Model: paritytest.NewBF16(cfg, 1, fast, quant.Recipe{}).Model, Backend: fast},
		{Model: wide, Backend: exact, Type: dtype.F64},
	} {
		t.Run(fmt.Sprint(j.Backend.Name(), " ", j.Model.Params()[4].Value.Type), func(t *testing.T) {
			j.Mem = &tensor.Arena{}
			set := recorded(t, fast, cfg)
			before := distances(t, j, set)
			for _, s := range suspect.All() {
				if planted, ok := s.Plant(j); ok {
					layers := []int{1, 2, -1} // 4:1, 16:1, and what is in no layer
					if j.Type == dtype.F64 {
						layers = layers[:1]
					}
					for _, layer := range layers {
						if _, err := taps.ForceLayer(planted, set, layer); err != nil {
							t.Errorf("%s: layer %d: %v", s.Name(), layer, err)
						}
					}
				}
			}
			if after := distances(t, j, set); !slices.Equal(before, after) {
				t.Error("the judge is another one after mistakes were planted in it")
			}
		})
	}
}

// recorded returns the taps of a right engine.
func recorded(t *testing.T, k kernels.Backend, cfg dsv4.Config) *taps.Set {
	t.Helper()
	e, ids := paritytest.New(cfg, 1, k, quant.Recipe{}), paritytest.IDs(cfg, 20, 3)
	set, rec := taps.NewSet(ids), taps.NewRecorder(e.Model)
	rec.Begin(paritytest.Sequence(ids), set)
	lps := e.Run(paritytest.None(), paritytest.Everywhere, ids, rec.Watch)
	if err := set.AddLogProbs(1, lps); err != nil {
		t.Fatal(err)
	}
	if err := rec.Err(); err != nil {
		t.Fatal(err)
	}
	return set
}

// distances returns the errors of every row of a forced pass.
func distances(t *testing.T, j taps.Judge, set *taps.Set) (all []float64) {
	t.Helper()
	local, err := taps.Force(j, set)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range local {
		all = append(all, d.Errors...)
	}
	return all
}

func widen(to, from *tensor.Tensor) {
	if to.Type != dtype.F64 {
		copy(to.Mem, from.Mem)
		return
	}
	for i, v := range from.F32() {
		to.F64()[i] = float64(v)
	}
}

// A model of another kind has no place for any of these mistakes.
func TestOtherModelsAreLeftAlone(t *testing.T) {
	var j taps.Judge
	j.Model = struct{ model.Model }{}
	for _, s := range suspect.All() {
		if _, ok := s.Plant(j); ok {
			t.Errorf("%s is planted in a model without configuration", s.Name())
		}
	}
}

// Where all entries and pairs of experts have one score, the smaller number is to be taken. A side that takes the larger is no other model: it is a tie. Only
// where the judge is the side's own engine, bit for bit, it is told what it does.
func TestTies(t *testing.T) {
	k := cpu.New(1)
	defer k.Close()
	for _, cfg := range paritytest.Shapes() {
		e := paritytest.Tied(cfg, 1, k)
		for _, m := range paritytest.Ties() {
			for _, at := range m.Places(cfg) {
				loose := bench{right: e, wrong: e}
				if v := loose.judge(t, m, at); v.f.Found || v.kind != diverge.Tie {
					t.Errorf("%s, planted in %s: %s, want a tie", m.Name, where(cfg, at), v.place())
				}
				strict := bench{right: e, wrong: e, c: diverge.Case{Own: true}}
				check(t, m, cfg, at, strict.judge(t, m, at))
			}
		}
	}
}

// Where the up half and the product never reach the limit, no clamp at all, none of the gate, and one of the product are the same: all are named, and the
// sentence says so.
func TestSeveralThatFitAreAllNamed(t *testing.T) {
	k := cpu.New(1)
	defer k.Close()
	e := paritytest.New(paritytest.Shapes()[0], 1, k, quant.Recipe{})
	for _, p := range e.Model.Params() {
		if strings.HasSuffix(p.Name, "mlp.experts.gate_up_proj") {
			halve(p.Value)
			k.Prepare(p.Value)
		}
	}
	b := bench{right: e, wrong: e}
	for _, m := range paritytest.All() {
		if m.Name != "no SwiGLU clamp" {
			continue
		}
		v := b.judge(t, m, 3)
		if !slices.Equal(v.names, []string{"no SwiGLU clamp", "gate never clamped", "clamped after the product"}) {
			t.Fatalf("%s is explained by %q, want all that it can be", v.place(), v.names)
		}
		says := diverge.Sentence(b.c, v.left)
		for _, e := range v.left[:3] {
			if !strings.Contains(says, e.Says) {
				t.Errorf("%q leaves out %q", says, e.Says)
			}
		}
		if !strings.Contains(says, "can't tell") {
			t.Errorf("%q does not say that it is one of three", says)
		}
	}
}

// halve makes the up half of every expert small.
func halve(w *tensor.Tensor) {
	rows, n := w.Shape[1], w.Dim()
	for i := range w.F32() {
		if i/n%rows >= rows/2 {
			w.F32()[i] /= 256
		}
	}
}

// A rounded correction bias shows where two experts are so near that it turns the choice, and there alone.
func TestRoundedBiasIsFound(t *testing.T) {
	k := cpu.New(1)
	defer k.Close()
	cfg := paritytest.Shapes()[1]
	e := paritytest.Near(cfg, 1, k)
	b := bench{right: e, wrong: e}
	for _, m := range paritytest.All() {
		if m.Name != "correction bias in bfloat16" {
			continue
		}
		for _, at := range m.Places(cfg) {
			v := b.judge(t, m, at)
			if check(t, m, cfg, at, v); !v.f.Found {
				t.Errorf("planted in %s: %s, want it found", where(cfg, at), v.place())
			}
		}
	}
}

// A judge whose cache is FP8 sees that the side's is not.
func TestWiderCacheIsFound(t *testing.T) {
	k := cpu.New(1)
	defer k.Close()
	for _, b := range equals(k) {
		b.fp8 = true
		v := b.judge(t, paritytest.None(), paritytest.Everywhere)
		if v.layer != 0 || v.op != "attn_mix" || v.why() != "no FP8 cache" {
			t.Errorf("%s is explained by %s, want L0.attn_mix by \"no FP8 cache\"", v.place(), v.why())
		}
	}
}
