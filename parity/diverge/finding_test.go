package diverge_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kernels/ref"
	"furlong/ops"
	"furlong/parity/diverge"
	"furlong/parity/taps"
	"furlong/parity/taps/tapstest"
	"furlong/tensor"
)

func smallJudge() taps.Judge {
	return tapstest.Judge(ref.New[float32](), tapstest.Model(tapstest.Small(), dtype.F32, 3))
}

// spoil multiplies rows of one boundary that pick names.
func spoil(at spot, factor float32, pick func(row int) bool) ops.Watch {
	return func(layer int, name string, x *tensor.Tensor, _ []int32) {
		if layer != at.layer || name != at.name {
			return
		}
		w := x.Len() / max(1, x.Shape[0])
		for i := range x.F32() {
			if pick(i / w) {
				x.F32()[i] *= factor
			}
		}
	}
}

// A finding says where it begins, in words that fit.
func TestWhere(t *testing.T) {
	j := smallJudge()
	ids := tapstest.Tokens(3, tapstest.Small(), 40)
	for _, tt := range []struct {
		name string
		at   spot
		pick func(int) bool
		want string
	}{
		{"all", spot{1, "attn_out"}, func(int) bool { return true }, "at every token;"},
		{"late", spot{1, "attn_out"}, func(i int) bool { return i >= 17 }, "from position 17 on;"},
		{"first closed window", spot{2, "attn_mix"}, func(i int) bool { return i >= 5 }, "from position 5 on: where the first window of 6 closes;"},
		{"full sliding window", spot{0, "attn_mix"}, func(i int) bool { return i >= 3 }, "from position 3 on: the first that no longer sees position 0 in its sliding window of 3;"},
		{"every window's end", spot{2, "attn_out"}, func(i int) bool { return i%6 == 5 }, "at every sixth token, from position 5 on: those that close a window;"},
		{"one", spot{2, "attn_out"}, func(i int) bool { return i == 21 }, "at position 21 only;"},
		{"early", spot{2, "attn_out"}, func(i int) bool { return i < 4 }, "up to position 3 only;"},
		{"windows", spot{2, "compressed_kv"}, func(i int) bool { return i >= 1 }, "from the window that closes at position 11 on: where the second window of 6 closes;"},
		{"here and there", spot{2, "attn_out"}, func(i int) bool { return i == 3 || i == 4 || i == 30 }, "at 3 of 40 tokens, the first at position 3;"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := first(t, diverge.Case{Layers: j.Model.Layers()}, j, tapstest.Record(j, ids, spoil(tt.at, 1.01, tt.pick)), nil)
			if !f.Found || f.Title() != taps.Title(tt.at.layer, tt.at.name) || !strings.Contains(f.Says, tt.want) {
				t.Errorf("%s: %s; want %q", f.Title(), f.Says, tt.want)
			}
		})
	}
}

// Equal bits are said to be equal bits; float64 against float32 is rounding.
func TestNothingIsFound(t *testing.T) {
	j := smallJudge()
	ids := tapstest.Tokens(3, tapstest.Small(), 40)
	mine := tapstest.Record(j, ids, nil)
	for _, tt := range []struct {
		name string
		side taps.Judge
		of   diverge.Formats
		kind diverge.Kind
		says string
	}{
		{"itself", j, diverge.Formats{}, diverge.SameBits, "The other side and the judge compute the same bits at all 150 boundaries."},
		{"float64", tapstest.Judge(ref.New[float64](), tapstest.Model(tapstest.Small(), dtype.F64, 3)), diverge.Formats{Wide: true}, diverge.Rounding, "Equal up to float32 rounding: the largest difference"},
		{"BF16", tapstest.Judge(j.Backend, tapstest.Model(tapstest.Small(), dtype.BF16, 3)), diverge.Formats{Plain: "BF16"}, diverge.Noise, "No op is off by more than the formats explain;"},
	} {
		f := first(t, diverge.Case{Of: tt.of}, j, tapstest.Record(tt.side, ids, nil), mine)
		if f.Found || f.Kind != tt.kind || !strings.HasPrefix(f.Says, tt.says) {
			t.Errorf("%s: %s: %s", tt.name, f.Kind, f.Says)
		}
	}
}

// A choice that falls the other way within rounding is the reason of a gap, and no mistake.
func TestTie(t *testing.T) {
	j := smallJudge()
	ids := tapstest.Tokens(3, tapstest.Small(), 40)
	const layer, row = 3, 25
	var bias *tensor.Tensor
	for _, p := range j.Model.Params() {
		if p.Name == fmt.Sprintf("model.layers.%d.mlp.gate.e_score_correction_bias", layer) {
			bias = p.Value
		}
	}
	mine := tapstest.Record(j, ids, nil)
	// The bias of the best expert that was not chosen is raised until it is a hair below the worst that was.
	logits, picks := mine.Find(layer, "router_logits").Row(row), mine.Find(layer, "router_indices").Picks(row)
	score := func(e int32) float64 {
		return math.Sqrt(math.Log1p(math.Exp(float64(logits[e])))) + float64(bias.F32()[e])
	}
	next := int32(-1)
	for e := range int32(5) {
		if !slices.Contains(picks, e) && (next < 0 || score(e) > score(next)) {
			next = e
		}
	}
	bias.F32()[next] += float32(score(picks[1])-score(next)) - 1e-7
	mine = tapstest.Record(j, ids, nil)
	if got := mine.Find(layer, "router_indices").Picks(row); !slices.Equal(got, picks) {
		t.Fatalf("the choice is %v, want %v still", got, picks)
	}
	tied := func(l int, name string, _ *tensor.Tensor, choice []int32) {
		if l == layer && name == "router_indices" {
			choice[row*2+1] = next
		}
	}
	f := first(t, diverge.Case{Side: "B"}, j, tapstest.Record(j, ids, tied), mine)
	if f.Found || f.Kind != diverge.Tie || !strings.Contains(strings.Join(f.More, " "), "L3.router_indices: 1 of 40 choices differ, the first at position 25, by a margin of") {
		t.Errorf("%s: %s %v", f.Kind, f.Says, f.More)
	}
	// A choice that is no tie is a mistake.
	for e := range int32(5) {
		if e != next && !slices.Contains(picks, e) {
			next = e
			break
		}
	}
	f = first(t, diverge.Case{Side: "B"}, j, tapstest.Record(j, ids, tied), mine)
	if !f.Found || f.Title() != "L3.router_indices" || f.At != row {
		t.Errorf("%s at %s, position %d: %s", f.Kind, f.Title(), f.At, f.Says)
	}
}

// All is equal and logprobs are not: the head, with what can be seen of it.
func TestHead(t *testing.T) {
	j := smallJudge()
	ids := tapstest.Tokens(3, tapstest.Small(), 40)
	for _, tt := range []struct {
		name   string
		change func(lp float32) float32
		want   string
	}{
		{"fewer tokens", func(lp float32) float32 { return lp / 2 }, "normalises over fewer tokens"},
		{"more tokens", func(lp float32) float32 { return lp - 0.01 }, "normalises over more tokens"},
	} {
		s := tapstest.Only(tapstest.Record(j, ids, func(_ int, name string, x *tensor.Tensor, _ []int32) {
			if name != taps.LogProb {
				return
			}
			for i, lp := range x.F32() {
				x.F32()[i] = tt.change(lp)
			}
		}), func(_ int, name string) bool { return name != taps.Logits })
		f := first(t, diverge.Case{Side: "B"}, j, s, nil)
		if f.Kind != diverge.Head || f.Op != taps.LogProb || !strings.Contains(strings.Join(f.More, " "), tt.want) {
			t.Errorf("%s: %s at %s: %v", tt.name, f.Kind, f.Title(), f.More)
		}
	}
	warm := tapstest.Record(tapstest.Judge(temperature{ref.New[float32]()}, tapstest.Model(tapstest.Small(), dtype.F32, 3)), ids, nil)
	f := first(t, diverge.Case{Side: "B"}, j, warm, nil)
	if f.Kind != diverge.Head || f.Op != taps.LogProb || !strings.Contains(strings.Join(f.More, " "), "as with another temperature") {
		t.Errorf("temperature: %s at %s: %v", f.Kind, f.Title(), f.More)
	}
}

// A temperature divides logits in the head.
type temperature struct{ kernels.Backend }

func (k temperature) LogProb(lp, entropy, lse, logits *tensor.Tensor, next []int32, scale []float32) {
	warm := make([]float32, len(scale))
	for i := range warm {
		warm[i] = scale[i] / 0.7
	}
	k.Backend.LogProb(lp, entropy, lse, logits, next, warm)
}

// A side held against its own model shows what its path does, down to the last bit.
func TestPath(t *testing.T) {
	j := smallJudge()
	ids := tapstest.Tokens(3, tapstest.Small(), 40)
	stale := spoil(spot{2, "compressed_kv"}, 1+1e-7, func(row int) bool { return row == 2 })
	f := first(t, diverge.Case{Own: true, Side: "rollout"}, j, tapstest.Record(j, ids, stale), nil)
	if f.Kind != diverge.Path || f.Title() != "L2.compressed_kv" || f.At != 17 || !strings.Contains(strings.Join(f.More, " "), "what it keeps between passes is at fault") {
		t.Errorf("%s at %s, position %d: %s %v", f.Kind, f.Title(), f.At, f.Says, f.More)
	}
}

// A difference beyond position 512 is seen to be late, locally and in the logprobs.
func TestLateDifference(t *testing.T) {
	j := smallJudge()
	ids := tapstest.Tokens(3, tapstest.Small(), 530)
	late := spoil(spot{1, "attn_mix"}, 1.1, func(row int) bool { return row >= 512 })
	f := first(t, diverge.Case{Layers: j.Model.Layers()}, j, tapstest.Record(j, ids, late), tapstest.Record(j, ids, nil))
	all := f.Says + strings.Join(f.More, " ")
	if f.Title() != "L1.attn_mix" || f.At != 512 || !strings.Contains(all, "from position 512 on;") || !strings.Contains(all, "Logprobs up to position 511 differ by at most 0.0e+00 nats, those from 512 to 1023") {
		t.Errorf("%s at %d: %s", f.Title(), f.At, all)
	}
}

// A constant that is a little other is seen, though no row is off by more than rounding.
func TestDrift(t *testing.T) {
	j := smallJudge()
	ids := tapstest.Tokens(3, tapstest.Small(), 60)
	for _, at := range []spot{{1, "attn_hc.pre"}, {2, "mlp_in"}, {3, "attn_out"}, {0, "router_weights"}} {
		f := first(t, diverge.Case{}, j, tapstest.Record(j, ids, spoil(at, 1+8e-7, func(int) bool { return true })), nil)
		if !f.Found || f.Title() != taps.Title(at.layer, at.name) || !strings.Contains(f.Says, "a constant is a little other") {
			t.Errorf("%v: %s at %s: %s", at, f.Kind, f.Title(), f.Says)
		}
	}
}

// Without a judge the first op is named whose difference does not come from what it reads.
func TestGrowth(t *testing.T) {
	j := smallJudge()
	ids := tapstest.Tokens(3, tapstest.Small(), 40)
	mine := tapstest.Record(j, ids, nil)
	for _, at := range []spot{{1, "attn_mix"}, {2, "expert_mid"}, {3, "attn_hc.post"}, {-1, taps.LogProb}} {
		plain, err := taps.Plain(mine, tapstest.Record(j, ids, spoil(at, 1.01, func(int) bool { return true })))
		if err != nil {
			t.Fatal(err)
		}
		f, err := diverge.Growth(diverge.Case{}, plain)
		if err != nil {
			t.Fatal(err)
		}
		if !f.Weak || !f.Found || f.Title() != taps.Title(at.layer, at.name) || !strings.Contains(strings.Join(f.More, " "), "judged by growth") {
			t.Errorf("%v: %s at %s: %s", at, f.Kind, f.Title(), f.Says)
		}
	}
	shifted := func(layer int, name string, _ *tensor.Tensor, choice []int32) {
		for i := range choice {
			if layer == 3 && name == "router_indices" {
				choice[i] = (choice[i] + 1) % 5
			}
		}
	}
	wide := tapstest.Judge(ref.New[float64](), tapstest.Model(tapstest.Small(), dtype.F64, 3))
	for says, s := range map[string]*taps.Set{"op at L3.router_indices": tapstest.Record(wide, ids, shifted), "rounding at nothing": tapstest.Record(wide, ids, nil)} {
		plain, err := taps.Plain(mine, s)
		if err != nil {
			t.Fatal(err)
		}
		f, err := diverge.Growth(diverge.Case{Of: diverge.Formats{Wide: true}}, plain)
		if got := fmt.Sprint(f.Kind, " at ", cmp.Or(f.Title(), "nothing")); err != nil || got != says {
			t.Errorf("float64: %s, want %s: %s", got, says, f.Says)
		}
	}
	plain, err := taps.Plain(mine, mine)
	if err != nil {
		t.Fatal(err)
	}
	if f, err := diverge.Growth(diverge.Case{}, plain); err != nil || f.Kind != diverge.SameBits {
		t.Errorf("itself: %v, %v", f, err)
	}
}

// behind returns the set as a pass records it whose first n tokens were in a cache.
func behind(t *testing.T, s *taps.Set, n int) *taps.Set {
	t.Helper()
	cut := taps.NewSet(s.Tokens)
	for _, x := range s.Taps() {
		y := *x
		y.First = max(x.First, (n+x.Rate-1)/max(1, x.Rate))
		gone := (y.First - x.First) * x.Width()
		if x.Choice != nil {
			y.Choice = x.Choice[gone:]
		} else {
			y.Values = x.Values[gone:]
		}
		if err := cut.Add(&y); err != nil {
			t.Fatal(err)
		}
	}
	return cut
}

// What a cache holds wrongly shows where it is read first.
func TestWrongPrefix(t *testing.T) {
	j := smallJudge()
	ids := tapstest.Tokens(3, tapstest.Small(), 40)
	c := diverge.Case{Own: true, Side: "rollout", Layers: j.Model.Layers()}
	good := first(t, c, j, behind(t, tapstest.Record(j, ids, nil), 12), nil)
	if good.Found || good.Kind != diverge.SameBits {
		t.Errorf("a good prefix: %s: %s", good.Kind, good.Says)
	}
	stale := tapstest.Record(j, ids, spoil(spot{1, "kv"}, 1.01, func(row int) bool { return row < 12 }))
	f := first(t, c, j, behind(t, stale, 12), nil)
	if f.Kind != diverge.Path || f.Title() != "L1.attn_mix" || f.At != 12 || !strings.Contains(strings.Join(f.More, " "), "The first 12 positions were not computed") {
		t.Errorf("%s at %s, position %d: %s %v", f.Kind, f.Title(), f.At, f.Says, f.More)
	}
}
