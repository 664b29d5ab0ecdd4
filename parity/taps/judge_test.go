package taps_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kernels/ref"
	"furlong/parity/taps"
	"furlong/parity/taps/tapstest"
	"furlong/tensor"
)

func smallJudge(seed uint64) taps.Judge {
	return tapstest.Judge(ref.New[float32](), tapstest.Model(tapstest.Small(), dtype.F32, seed))
}

// find returns a boundary's difference.
func find(t *testing.T, diffs []taps.Diff, layer int, name string) taps.Diff {
	t.Helper()
	for _, d := range diffs {
		if d.Layer == layer && d.Name == name {
			return d
		}
	}
	t.Fatalf("no difference of %s", taps.Title(layer, name))
	return taps.Diff{}
}

func force(t *testing.T, j taps.Judge, s *taps.Set) []taps.Diff {
	t.Helper()
	diffs, err := taps.Force(j, s)
	if err != nil {
		t.Fatal(err)
	}
	return diffs
}

// A recorded choice that the judge can't make is a finding, and the pass goes on with the judge's own.
func TestImpossibleChoices(t *testing.T) {
	j := smallJudge(1)
	ids := tapstest.Tokens(1, tapstest.Small(), 30)
	for _, tt := range []struct {
		name  string
		layer int
		tap   string
		row   int
		picks []int32
		want  string
	}{
		{"an entry that is not closed yet", 1, "index_topk", 6, []int32{0, 1, 3}, "position 6 reads entry 3, when 3 windows are closed"},
		{"an entry twice", 1, "index_topk", 20, []int32{2, 2, 3}, "position 20 reads entry 2 twice"},
		{"an expert out of range", 1, "router_indices", 4, []int32{0, 5}, "position 4 goes to expert 5, of 5"},
		{"no expert", 0, "router_indices", 4, []int32{-1, 2}, "position 4 goes to expert -1, of 5"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := tapstest.Record(j, ids, nil)
			copy(s.Find(tt.layer, tt.tap).Picks(tt.row), tt.picks)
			diffs := force(t, j, s)
			d := find(t, diffs, tt.layer, tt.tap)
			if d.Problem != tt.want || d.Same || !math.IsInf(d.Worst(), 1) || !slices.Equal(d.Differ, []int{tt.row}) {
				t.Errorf("%+v, want problem %q", d, tt.want)
			}
			for _, d := range diffs {
				slot := strings.HasPrefix(d.Name, "expert_") || d.Name == "router_weights"
				if own := d.Layer == tt.layer && (d.Name == tt.tap || slot && tt.tap == "router_indices"); !own && !d.Same {
					t.Errorf("%s: differs, too", d.Title())
				}
				if slot && d.Layer == tt.layer && (d.Skipped != "") != (tt.tap == "router_indices") {
					t.Errorf("%s: skipped %q", d.Title(), d.Skipped)
				}
			}
		})
	}
}

// early shows the indexer one window more than is closed.
type early struct{ kernels.Backend }

func (k early) IndexTopK(q, w *tensor.Tensor, heads int, keys kernels.View, n int) kernels.View {
	keys.Hi = slices.Clone(keys.Hi)
	for t := range keys.Hi {
		keys.Hi[t] = min(keys.Hi[t]+1, int32(len(keys.Rows)))
	}
	return k.Backend.IndexTopK(q, w, heads, keys, n)
}

// A judge that makes an impossible choice itself finds it in order, so that a mistake can be explained.
func TestImpossibleForBoth(t *testing.T) {
	right := smallJudge(1)
	wrong := tapstest.Judge(early{ref.New[float32]()}, tapstest.Model(tapstest.Small(), dtype.F32, 1))
	s := tapstest.Record(wrong, tapstest.Tokens(1, tapstest.Small(), 30), nil)
	if d := find(t, force(t, right, s), 1, "index_topk"); !strings.Contains(d.Problem, "windows are closed") {
		t.Errorf("the right judge: problem %q", d.Problem)
	}
	for _, d := range force(t, wrong, s) {
		if !d.Same || d.Problem != "" {
			t.Errorf("the judge with the mistake: %s: %q", d.Title(), d.Problem)
		}
	}
	copy(s.Find(1, "index_topk").Picks(25), []int32{1, 2, 3}) // beside what only the wrong judge can choose
	copy(s.Find(1, "index_topk").Picks(26), []int32{4, 5, 6})
	if d := find(t, force(t, wrong, s), 1, "index_topk"); len(d.Differ) == 0 || d.Problem != "" {
		t.Errorf("another choice beside impossible ones: %d differ, problem %q", len(d.Differ), d.Problem)
	}
	s = tapstest.Record(right, tapstest.Tokens(1, tapstest.Small(), 30), nil)
	if d := find(t, force(t, wrong, s), 1, "index_topk"); len(d.Differ) == 0 || d.Problem != "" {
		t.Errorf("the wrong judge of a right side: %d differ, problem %q", len(d.Differ), d.Problem)
	}
}

// The margin of a choice is what the judge's scores say against it.
func TestMargins(t *testing.T) {
	j := smallJudge(1)
	ids := tapstest.Tokens(1, tapstest.Small(), 30)
	s := tapstest.Record(j, ids, nil)
	logits, picks := s.Find(1, "router_logits").Row(9), s.Find(1, "router_indices").Picks(9)
	var bias []float32
	for _, p := range j.Model.Params() {
		if p.Name == "model.layers.1.mlp.gate.e_score_correction_bias" {
			bias = p.Value.F32()
		}
	}
	score := func(e int32) float64 { return math.Sqrt(math.Log1p(math.Exp(float64(logits[e])))) }
	gone, come := picks[1], int32(0)
	for come == picks[0] || come == picks[1] {
		come++
	}
	picks[1] = come
	size := max(score(gone)+math.Abs(float64(bias[gone])), score(come)+math.Abs(float64(bias[come])))
	want := (score(gone) + float64(bias[gone]) - score(come) - float64(bias[come])) / size
	d := find(t, force(t, j, s), 1, "router_indices")
	if math.Abs(d.Worst()-want) > 1e-9 || !slices.Equal(d.Differ, []int{9}) {
		t.Errorf("margin %v at rows %v, want %v at row 9", d.Worst(), d.Differ, want)
	}
	s.Find(1, "router_indices").Picks(9)[1] = gone
	hash := s.Find(0, "router_indices").Picks(3)
	hash[0], hash[1] = hash[1], hash[0]
	if d := find(t, force(t, j, s), 0, "router_indices"); len(d.Differ) > 0 {
		t.Errorf("another order of the same experts counts as a difference")
	}
	hash[0] = (hash[0] + 1) % 5
	if hash[0] == hash[1] {
		hash[0] = (hash[0] + 1) % 5
	}
	if d := find(t, force(t, j, s), 0, "router_indices"); !math.IsInf(d.Worst(), 1) {
		t.Errorf("margin in a layer with a table is %v, want infinite", d.Worst())
	}
}

// Experts named in another order have their rows in that order.
func TestSlotsFollowTheRecordedOrder(t *testing.T) {
	j := smallJudge(1)
	ids := tapstest.Tokens(1, tapstest.Small(), 20)
	mine, s := tapstest.Record(j, ids, nil), tapstest.Record(j, ids, nil)
	for _, name := range []string{"router_indices", "router_weights", "expert_gate_up", "expert_mid", "expert_out"} {
		x := s.Find(3, name)
		for i := range x.Rows() {
			if x.Choice != nil {
				slices.Reverse(x.Picks(i))
				continue
			}
			w := x.Width() / 2
			row := slices.Clone(x.Row(i))
			copy(x.Row(i), append(row[w:], row[:w]...))
		}
	}
	diffs := force(t, j, s)
	for _, d := range diffs {
		if d.Layer == 3 && d.Worst() > 1e-6 { // the sum over slots is in another order
			t.Errorf("%s: %v", d.Title(), d.Worst())
		}
	}
	plain, err := taps.Plain(mine, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range plain {
		if !d.Same || d.Problem+d.Skipped != "" {
			t.Errorf("as they are: %s: %+v", d.Title(), d)
		}
	}
}

// What was not recorded is passed over, and the next one says what it spans.
func TestMissingTaps(t *testing.T) {
	j := smallJudge(1)
	all := tapstest.Record(j, tapstest.Tokens(1, tapstest.Small(), 24), nil)
	s := tapstest.Only(all, func(_ int, name string) bool {
		return !slices.Contains([]string{"q_latent", "q_normed", "kv", "index_q", "attn_hc.pre", "streams", "expert_gate_up", "expert_mid", "expert_out", "logits"}, name)
	})
	diffs := force(t, j, s)
	for title, want := range map[string]string{
		"L1.q":            "L1.q_latent L1.q_normed",
		"L1.attn_mix":     "L1.kv",
		"L1.index_topk":   "L1.q_latent L1.index_q",
		"L1.attn_hc.post": "L0.streams",
		"L1.mlp_out":      "L1.expert_gate_up L1.expert_mid L1.expert_out",
		"L2.attn_in":      "",
		"hc_head":         "L3.streams",
		"logprob":         "logits",
	} {
		for _, d := range diffs {
			if got := strings.Join(d.Spans, " "); d.Title() == title && got != want {
				t.Errorf("%s spans %q, want %q", title, got, want)
			}
		}
	}
	for _, d := range diffs {
		if !d.Same {
			t.Errorf("%s: differs", d.Title())
		}
	}
}

// Values that are no numbers are found where they come up, and not passed on.
func TestNotANumber(t *testing.T) {
	j := smallJudge(1)
	s := tapstest.Record(j, tapstest.Tokens(1, tapstest.Small(), 24), nil)
	s.Find(1, "attn_mix").Row(5)[3] = float32(math.NaN())
	for _, d := range force(t, j, s) {
		if bad := d.Title() == "L1.attn_mix"; bad != !d.Same {
			t.Errorf("%s: same %v", d.Title(), d.Same)
		} else if bad && (!math.IsInf(d.Worst(), 1) || d.At != 5) {
			t.Errorf("%s: worst %v at row %d, want infinite at row 5", d.Title(), d.Worst(), d.At)
		}
	}
}

func TestForceRefuses(t *testing.T) {
	j := smallJudge(1)
	for _, tt := range []struct {
		name string
		s    func() *taps.Set
		want string
	}{
		{"no tokens", func() *taps.Set { return taps.NewSet(nil) }, "the set has no tokens"},
		{"another vocabulary", func() *taps.Set { return taps.NewSet([]int32{1, 23}) }, "token 23 at position 1: the judge knows 23"},
		{"more layers", func() *taps.Set {
			s := taps.NewSet([]int32{1})
			if err := s.Add(&taps.Tap{Layer: 4, Name: "attn_in", Shape: []int{1}, Values: []float32{1}}); err != nil {
				t.Fatal(err)
			}
			return s
		}, "tap L4.attn_in: the judge has 4 layers"},
	} {
		if _, err := taps.Force(j, tt.s()); err == nil || err.Error() != tt.want {
			t.Errorf("%s: error is %v, want %s", tt.name, err, tt.want)
		}
	}
	s := tapstest.Record(j, tapstest.Tokens(1, tapstest.Small(), 12), nil)
	wide := s.Find(1, "attn_in")
	wide.Shape, wide.Values = []int{17}, make([]float32, 17*12)
	if d := find(t, force(t, j, s), 1, "attn_in"); d.Problem != "rows are 17 wide, the judge's 16" {
		t.Errorf("rows of another width: problem %q", d.Problem)
	}
	if err := s.Add(&taps.Tap{Layer: 0, Name: "index_topk", Shape: []int{1}, Choice: make([]int32, 12)}); err != nil {
		t.Fatal(err)
	}
	if d := find(t, force(t, j, s), 0, "index_topk"); d.Problem != "the judge computes nothing there: its layer is of another kind" {
		t.Errorf("a choice in a layer without an indexer: problem %q", d.Problem)
	}
	if _, err := taps.ForceLayer(j, s, 4); err == nil {
		t.Error("a layer that is not there is no error")
	}
}

func TestBins(t *testing.T) {
	d := taps.Diff{Errors: make([]float64, 600), Rate: 1}
	for i := range d.Errors {
		if i >= 512 {
			d.Errors[i] = 2
		}
	}
	bins := d.Bins()
	if len(bins) != 5 || bins[4] != (taps.Bin{From: 512, To: 1024, Rows: 88, Mean: 2, Worst: 2}) || bins[3].Worst != 0 || bins[1].From != 64 {
		t.Errorf("bins are %+v", bins)
	}
	d = taps.Diff{Errors: []float64{1, 1}, Rate: 128, First: 3}
	if p := d.Position(0); p != 511 {
		t.Errorf("the fourth window of 128 closes at %d, want 511", p)
	}
}
