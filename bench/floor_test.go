package bench

import (
	"math"
	"testing"

	"furlong/dtype"
	"furlong/model/dsv4"
	"furlong/tensor"
)

// small is a model of three layers whose counts can be made by hand, of as many weights as the sums need.
func small() Cost {
	cfg := dsv4.Config{
		Vocab: 10, Heads: 2, HeadDim: 4, Window: 3, RateC4: 2, RateC128: 4, IndexHeads: 1, IndexDim: 2, IndexTopK: 2, Experts: 4, TopK: 2,
		Layers: []dsv4.Layer{{Attention: dsv4.W, Router: dsv4.Hash}, {Attention: dsv4.C4}, {Attention: dsv4.C128}},
	}
	param := func(name string, t dtype.Type, shape ...int) *tensor.Param {
		return &tensor.Param{Name: name, Value: tensor.New(t, shape...)}
	}
	return CostOf(cfg, []*tensor.Param{
		param("model.embed_tokens.weight", dtype.F32, 10, 4),                // 40 numbers, 160 bytes, 16 a row
		param("model.layers.0.mlp.gate.tid2eid", dtype.I32, 10, 2),          // 80 bytes, 8 a row
		param("model.layers.0.mlp.experts.down_proj", dtype.F32, 4, 4, 2),   // 32 numbers, 128 bytes, half of them chosen
		param("model.layers.0.mlp.shared_experts.gate.w", dtype.BF16, 3, 4), // 12 numbers, 24 bytes
		param("lm_head.weight", dtype.F32, 10, 4),                           // 40 numbers, 160 bytes
	})
}

func TestCostCounts(t *testing.T) {
	c := small()
	if c.Parameters != 40+32+12+40 || c.Active != 16+12+40 || c.Bytes != 160+80+128+24+160 {
		t.Errorf("%d parameters, %d on a token, %d bytes; want 124, 68, 552", c.Parameters, c.Active, c.Bytes)
	}
}

// The benchmark models are the published ones.
func TestCostOfModels(t *testing.T) {
	for _, tt := range []struct {
		name           string
		params, active int
	}{{"tiny", 1998433, 900705}, {"mid", 217314173, 62387069}} {
		cfg, err := readModel(tt.name)
		if err != nil {
			t.Fatal(err)
		}
		c := CostOf(cfg, dsv4.New(cfg, dtype.BF16).Params())
		if c.Parameters != tt.params || c.Active != tt.active {
			t.Errorf("%s: %d parameters, %d on a token; want %d, %d", tt.name, c.Parameters, c.Active, tt.params, tt.active)
		}
	}
}

func TestAttention(t *testing.T) {
	c := small()
	for _, tt := range []struct {
		n    int
		want float64
	}{
		{1, 32 * (1 + 1 + 1)},                 // a row costs 4*2*4; no window has closed
		{2, 32*(2+(2+1)+2) + 4*1},             // one entry of rate 2, which the indexer scores for 2*1*2
		{5, 32*(3+(3+2)+(3+1)) + 4*2},         // the window is full
		{9, 32*(3+(3+2)+(3+2)) + 4*4},         // four entries scored, two read
		{100, 32*(3+(3+2)+(3+25)) + 4*50},     // only scores and the slow compression grow
		{10000, 32*(3+5+(3+2500)) + 4.0*5000}, //
	} {
		if got := c.attention(tt.n); got != tt.want {
			t.Errorf("attention(%d) = %v, want %v", tt.n, got, tt.want)
		}
	}
}

func TestForward(t *testing.T) {
	c := small()
	want := 2.0*28*2 + 2*40*1 + 96 + 228 // body twice, head once, attention of one and of two positions
	if got := c.forward(2, 1); got != want {
		t.Errorf("forward(2, 1) = %v, want %v", got, want)
	}
	if got := c.passes(Shape{3, 2}, 3)[0].Ops; got != 9*(want+2*40) {
		t.Errorf("a step on 3x2 takes %v operations, want %v", got, 9*(want+2*40))
	}
}

func TestDecode(t *testing.T) {
	c := small()
	// Elements of state at 5 positions: W 3*4; C4 (3+2)*4 + 2*2 + 2*2*(4+2); C128 (3+1)*4 + 2*4.
	state := 4.0 * (12 + 48 + 24)
	if got := c.state(5); got != state {
		t.Errorf("state(5) = %v bytes, want %v", got, state)
	}
	got := c.decode(2, 5)
	want := Need{
		Ops:   2 * (2*68 + 392),
		Bytes: 184 + 128*0.75 + 2*(24+state), // two tokens choose three quarters of the experts on average
	}
	if got != want {
		t.Errorf("decode(2, 5) = %+v, want %+v", got, want)
	}
	if steps := c.steps(2, 5, 3); len(steps) != 3 || steps[0] != want || steps[2] != c.decode(2, 7) {
		t.Errorf("three steps from 5 need %+v", steps)
	}
	if got := c.prompts(2, 4); got != (Need{Ops: 2 * c.forward(4, 1)}) {
		t.Errorf("two prompts of 4 need %+v, want twice %v", got, c.forward(4, 1))
	}
}

func TestSeconds(t *testing.T) {
	r := Rates{Matrix: Rate{Best: 100}, Copy: Rate{Best: 10}}
	for _, tt := range []struct {
		need Need
		want float64
	}{
		{Need{Ops: 300, Bytes: 20}, 3},
		{Need{Ops: 300, Bytes: 40}, 4},
	} {
		if got := tt.need.Seconds(r); got != tt.want {
			t.Errorf("%+v takes %v s, want %v", tt.need, got, tt.want)
		}
	}
}

// TestFloorIsOfItsTime has a machine slow down after its first work: each floor is by the best that was seen right before and after.
func TestFloorIsOfItsTime(t *testing.T) {
	b := &bencher{rep: &Report{}}
	for _, rate := range []float64{400, 200, 100, 50} {
		for range looks {
			b.meter.matrix, b.meter.copy = append(b.meter.matrix, rate), append(b.meter.copy, rate/10)
		}
		if rate > 50 {
			b.add(newResult(Train, "x", 100, 1, runs{seconds: []float64{2}}, []Need{{Ops: 400}}))
		}
	}
	b.conclude()
	for i, want := range []float64{100, 50, 25} {
		if got := b.rep.Results[i].FloorRun; got != want {
			t.Errorf("the floor of work %d is %v tokens/s, want %v", i, got, want)
		}
	}
	if got := b.rep.Rates.Matrix; got.Best != 400 || got.Count != 4*looks {
		t.Errorf("the run's rate is %+v, want the best of all", got)
	}
}

func TestResultAgainstFloor(t *testing.T) {
	r := newResult(Decode, "x", 60, 3, runs{[]float64{3, 2, 6}, []float64{400, 200, 100}}, []Need{{Ops: 100}, {Bytes: 5}})
	r.hold(Rates{Matrix: Rate{Best: 200}, Copy: Rate{Best: 10}})
	if want := (Spread{Median: 20, Min: 10, Max: 30}); r.Rate != want {
		t.Errorf("rate is %+v, want %+v", r.Rate, want)
	}
	if r.StepMS != 1000 || r.FloorRun != 60 || math.Abs(r.Share-1.0/3) > 1e-15 {
		t.Errorf("%v ms a step, floor %v, share %v; want 1000, 60, a third", r.StepMS, r.FloorRun, r.Share)
	}
	if r.ShareThen != 0.25 { // of a quarter, a half and a quarter
		t.Errorf("share by the rates of the time is %v, want 0.25", r.ShareThen)
	}
	if r.Peak <= 0 {
		t.Errorf("peak memory is %d", r.Peak)
	}
}
