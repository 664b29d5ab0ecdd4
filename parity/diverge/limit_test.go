package diverge_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"furlong/dtype"
	"furlong/kernels/ref"
	"furlong/model/dsv4"
	"furlong/parity/diverge"
	"furlong/parity/taps"
	"furlong/parity/taps/tapstest"
	"furlong/quant"
	"furlong/tensor"
)

// What rounding to each format does to numbers from a normal distribution.
func TestNoiseIsAsMeasured(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	w := tensor.New(dtype.F32, 256, 512)
	for i := range w.F32() {
		w.F32()[i] = float32(r.NormFloat64())
	}
	half := tensor.New(dtype.F32, 256, 512)
	for i, v := range w.F32() {
		half.F32()[i] = dtype.FromBF16(dtype.ToBF16(v))
	}
	if got := relative(half.F32(), w.F32()); math.Abs(got/diverge.NoiseBF16-1) > 0.05 {
		t.Errorf("BF16: %v, want about %v", got, diverge.NoiseBF16)
	}
	for f, want := range map[quant.Format]float64{quant.FP8: diverge.NoiseE4M3, quant.FP4: diverge.NoiseE2M1} {
		q := f.New(1, 256, 512)
		quant.Pack(q, w)
		quant.Unpack(half, q)
		if got := relative(half.F32(), w.F32()); math.Abs(got/want-1) > 0.05 {
			t.Errorf("%v: %v, want about %v", f, got, want)
		}
	}
}

func relative(x, y []float32) float64 {
	var d, n float64
	for i, v := range y {
		e := float64(x[i]) - float64(v)
		d, n = d+e*e, n+float64(v)*float64(v)
	}
	return math.Sqrt(d / n)
}

// Float32 in any order of sums stays below the limits with room to spare: float64 is as far from one order as another is.
func TestRoundingIsWithin(t *testing.T) {
	const room = 2
	for seeds, cfg := range []dsv4.Config{1: tapstest.Larger(), 2: tapstest.Small()} {
		for seed := range uint64(seeds) {
			s := tapstest.Record(tapstest.Judge(ref.New[float64](), tapstest.Model(cfg, dtype.F64, seed)), tapstest.Tokens(seed, cfg, 26), nil)
			local, err := taps.Force(tapstest.Judge(ref.New[float32](), tapstest.Model(cfg, dtype.F32, seed)), s)
			if err != nil {
				t.Fatal(err)
			}
			limits, err := diverge.NewLimits(diverge.Formats{}, diverge.Formats{Wide: true})
			if err != nil {
				t.Fatal(err)
			}
			for i := range local {
				d := &local[i]
				l := limits.Of(d)
				if d.Worst() > l.Value/room || math.Abs(d.Gain) > l.Steady/room || math.Abs(d.Shift) > l.Steady/room {
					t.Errorf("seed %d: %s: %.1e of %.1e, gain %.1e and shift %.1e of %.1e", seed, d.Title(), d.Worst(), l.Value, d.Gain, d.Shift, l.Steady)
				}
			}
		}
	}
}

// A judge in narrow formats finds no mistake in a side in others, but it finds one that is made on top of them.
func TestFormatsAreNoMistake(t *testing.T) {
	k := ref.New[float32]()
	for _, tt := range []struct {
		judge, side string
		fp8Judge    bool
		plain       dtype.Type // of the side's other matrices
		spot        spot
		factor      float32
	}{
		{judge: "fp8", side: "bf16", spot: spot{1, "q_normed"}, factor: 1.5},
		{judge: "fp8", side: "fp8-weights", spot: spot{2, "attn_out"}, factor: 0.5},
		{judge: "fp8+fp4", side: "bf16", spot: spot{3, "expert_out"}, factor: 3},
		{judge: "bf16", side: "fp8+fp4", fp8Judge: true, spot: spot{2, "compressed_kv"}, factor: 1.0001},
		{judge: "bf16", side: "bf16", plain: dtype.BF16, spot: spot{1, "index_weights"}, factor: 1.05},
	} {
		for seed := range uint64(2) {
			cfg := tapstest.Small()
			if seed == 1 && tt.judge == "fp8+fp4" {
				cfg = tapstest.Larger()
			}
			j := tapstest.Judge(k, tapstest.Quantised(cfg, tt.judge, seed))
			j.FP8 = tt.fp8Judge
			side := tapstest.Judge(k, tapstest.Quantised(cfg, tt.side, seed))
			of := diverge.Formats{Weights: tt.side}
			if tt.plain == dtype.BF16 {
				side, of.Plain = tapstest.Judge(k, tapstest.Model(cfg, dtype.BF16, seed)), "BF16"
			}
			ids := tapstest.Tokens(seed, cfg, 26)
			c := diverge.Case{Of: of, Against: diverge.Formats{Weights: tt.judge, FP8: tt.fp8Judge}}
			f := first(t, c, j, tapstest.Record(side, ids, nil), nil)
			if f.Found || f.Kind != diverge.Noise {
				t.Errorf("%s against %s, seed %d: %s: %s", tt.judge, tt.side, seed, f.Kind, f.Says)
			}
			f = first(t, c, j, tapstest.Record(side, ids, spoilAt(tt.spot, 0, tt.factor)), nil)
			if !f.Found || f.Layer != tt.spot.layer || f.Op != tt.spot.name {
				t.Errorf("%s against %s, seed %d: a mistake at %v: %s: %s", tt.judge, tt.side, seed, tt.spot, f.Kind, f.Says)
			}
		}
	}
}
