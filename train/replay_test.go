package train

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/kernels/ref"
	"furlong/kv"
	"furlong/model"
	"furlong/model/dsv4"
	"furlong/ops"
	"furlong/rl"
	"furlong/tensor"
)

// replaying are settings under which recorded choices are replayed.
func replaying(recompute bool) Config {
	c := settings()
	c.Recompute, c.FreezeGate, c.Replay = recompute, false, Replay{Rollout: true, Entries: true}
	return c
}

// record gives samples choices as a rollout engine would have: a forward pass of each sequence alone, whose choices edit may change first.
func record(m *dsv4.Model, samples []*rl.Sample, edit func(layer int, routes, entries []int32)) {
	for _, s := range samples {
		recordOne(m, s, edit)
	}
}

func recordOne(m *dsv4.Model, s *rl.Sample, edit func(layer int, routes, entries []int32)) {
	c := ops.NewCtx(ref.New[float32](), &tensor.Arena{}, dtype.F32)
	model.Prepare(c, m)
	n, k := run(s), m.Choices()
	in := &ops.Tokens{ID: s.Tokens()[:n], Seq: make([]int32, n)}
	for pos := range n {
		in.Pos = append(in.Pos, int32(pos))
	}
	c.ReplayRoutes = func(layer int, choice []int32) { edit(layer, choice, nil) }
	c.ReplayIndex = func(layer int, choice []int32) { edit(layer, nil, choice) }
	routes := make([]int32, n*len(m.Layers())*k)
	c.Routed = func(layer int, choice []int32) {
		for t := range n {
			copy(routes[(t*len(m.Layers())+layer)*k:][:k], choice[t*k:][:k])
		}
	}
	layers, rate, most := m.Indexed()
	s.Entries = rl.NewEntries(layers, rate, most)
	s.Entries.Tokens = n
	c.Indexed = func(layer int, choice []int32) {
		i := s.Entries.Place(layer)
		for t := range n {
			s.Entries.Rows[i] = s.Entries.Pack(s.Entries.Rows[i], t, choice[t*most:][:most])
		}
	}
	stores := make([]kv.InPlace, len(m.Layers()))
	model.Forward(c, m, in, func(i int) kv.Store { return &stores[i] }, false)
	s.Experts = rl.NewRoutes(len(m.Layers()), k, m.Experts())
	s.Experts.Add(routes)
}

func own(int, []int32, []int32) {}

// others turns choices of learned layers into other ones.
func others(m *dsv4.Model) func(layer int, routes, entries []int32) {
	r := rand.New(rand.NewPCG(8, 8))
	_, rate, most := m.Indexed()
	return func(layer int, routes, entries []int32) {
		k := m.Choices()
		for t := 0; t*k < len(routes) && !m.Hashed(layer); t++ {
			for i, e := range r.Perm(m.Experts())[:k] {
				routes[t*k+i] = int32(e)
			}
		}
		for t := 0; t*most < len(entries); t++ {
			if n := (t + 1) / rate; n > most {
				for i, v := range r.Perm(n)[:most] {
					entries[t*most+i] = int32(v)
				}
				slices.Sort(entries[t*most:][:most])
			}
		}
	}
}

// The trainer's own choices, replayed, change no bit, however the batch is cut; all that is counted is 1.
func TestReplayOfOwnChoicesChangesNothing(t *testing.T) {
	for _, format := range []dtype.Type{dtype.F32, dtype.BF16} {
		plain := replaying(false)
		plain.Replay = Replay{}
		e := refEngine(t, plain, format)
		grads := gradients(t, e, batch(1, 2, 3))
		want := mustStep(t, e, batch(1, 2, 3))
		for _, v := range []struct {
			budget    int
			recompute bool
		}{{1, true}, {50, false}, {100_000, true}} {
			c := replaying(v.recompute)
			c.MaxTokens = v.budget
			b, got := batch(1, 2, 3), cpuEngine(t, c, format)
			record(actor(format, 1), b.Samples, own)
			wantSame(t, fmt.Sprint("gradients ", v), gradients(t, got, b), grads)
			for _, s := range b.Samples {
				s.TrainLogProbs, s.Entropy = nil, nil
			}
			stats := mustStep(t, got, b)
			wantSame(t, fmt.Sprint("state ", v), state(got), state(e))
			for name, x := range want {
				if stats[name] != x {
					t.Errorf("%v: %s is %v, want %v", v, name, stats[name], x)
				}
			}
			for _, name := range []string{"moe/router_agreement", "indexer/agreement"} {
				for _, tail := range []string{"", "_worst", "_same", "_used"} {
					if x := stats[name+tail]; x != 1 {
						t.Errorf("%v: %s is %v, want 1", v, name+tail, x)
					}
				}
			}
		}
	}
}

// forced returns a sample's logprobs when every layer is told what to choose: by a pass of its own.
func forced(m *dsv4.Model, s *rl.Sample) []float32 {
	c := ops.NewCtx(ref.New[float32](), &tensor.Arena{}, dtype.F32)
	model.Prepare(c, m)
	n := run(s)
	in := &ops.Tokens{ID: s.Tokens()[:n], Seq: make([]int32, n)}
	for pos := range n {
		in.Pos = append(in.Pos, int32(pos))
	}
	k, layers := m.Choices(), len(m.Layers())
	all := s.Experts.From(0)
	c.ReplayRoutes = func(layer int, choice []int32) {
		for t := range n {
			copy(choice[t*k:][:k], all[(t*layers+layer)*k:])
		}
	}
	_, _, most := m.Indexed()
	c.ReplayIndex = func(layer int, choice []int32) {
		rows := s.Entries.Rows[s.Entries.Place(layer)]
		for t := range n {
			var numbers []int32
			numbers, rows, _ = s.Entries.Unpack(nil, t, rows)
			copy(choice[t*most:][:most], numbers)
		}
	}
	stores := make([]kv.InPlace, layers)
	x := model.Forward(c, m, in, func(i int) kv.Store { return &stores[i] }, false)
	first := len(s.Prompt.Tokens) - 1
	h := m.Final(c, x.Slice(first, n))
	scale := make([]float32, len(s.Response))
	for i := range scale {
		scale[i] = s.Sampling.InvTemperature()
	}
	lp, _ := ops.LogProb(c, h, m.Head(), s.Response, scale)
	return lp.F32()
}

// Choices that are not the trainer's own are used in scoring and in the step, for every token, with recomputation too: what was used agrees fully, what
// the trainer would have chosen does not.
func TestOtherChoicesAreUsed(t *testing.T) {
	var grads map[string]string
	for _, recompute := range []bool{false, true} {
		b, m := batch(2, 2, 3), actor(dtype.F32, 1)
		record(m, b.Samples, others(m))
		e := cpuEngine(t, replaying(recompute), dtype.F32)
		if err := e.Score(t.Context(), b.Samples); err != nil {
			t.Fatal(err)
		}
		moved := false
		for i, s := range b.Samples {
			if want := forced(m, s); !slices.Equal(s.TrainLogProbs, want) {
				t.Fatalf("recompute %v: sample %d has logprobs %v, want %v", recompute, i, s.TrainLogProbs, want)
			}
			plain, _ := alone(m, ref.New[float32](), s)
			moved = moved || !slices.Equal(plain, s.TrainLogProbs)
		}
		if !moved {
			t.Error("other choices give the same logprobs: this tests nothing")
		}
		g := gradients(t, e, b)
		if grads == nil {
			grads = g
		}
		wantSame(t, "gradients under recompute", g, grads)
		e = cpuEngine(t, replaying(recompute), dtype.F32)
		stats := mustStep(t, e, b)
		for _, name := range []string{"moe/router_agreement", "indexer/agreement"} {
			if stats[name+"_used"] != 1 || stats[name] >= 1 || stats[name] <= 0 || stats[name+"_worst"] > stats[name] || stats[name+"_same"] >= 1 {
				t.Errorf("recompute %v: %s: %v used, own %v, worst %v, the same %v", recompute, name, stats[name+"_used"], stats[name], stats[name+"_worst"], stats[name+"_same"])
			}
		}
		if stats["moe/router_agreement/0"] != 1 || stats["moe/router_agreement/3"] >= 1 {
			t.Errorf("agreement is %v in a layer with a table and %v in one without, want 1 and less", stats["moe/router_agreement/0"], stats["moe/router_agreement/3"])
		}
	}
}

// Without replay the choices that were recorded are counted, and change nothing.
func TestAgreementWithoutReplay(t *testing.T) {
	c := replaying(false)
	c.Replay = Replay{}
	e := refEngine(t, c, dtype.F32)
	want := mustStep(t, e, batch(2, 2, 3))
	m, b := actor(dtype.F32, 1), batch(2, 2, 3)
	record(m, b.Samples, others(m))
	got := refEngine(t, c, dtype.F32)
	stats := mustStep(t, got, b)
	wantSame(t, "state", state(got), state(e))
	if want["moe/router_agreement"] != 0 || stats["moe/router_agreement"] >= 1 || stats["moe/router_agreement_used"] >= 1 || stats["indexer/agreement_used"] >= 1 {
		t.Errorf("agreement is %v without a record; with one %v, of what was used %v and %v; want 0, and less than 1", want["moe/router_agreement"],
			stats["moe/router_agreement"], stats["moe/router_agreement_used"], stats["indexer/agreement_used"])
	}
	b.Samples[1].Experts = b.Samples[1].Experts.Head(1) // of a sample that was aborted
	mustStep(t, refEngine(t, c, dtype.F32), b)
}

// The router learns while its choices are held: the gradient of the gate is that of finite differences, where the choice does not follow the weight.
func TestGateGradientUnderReplay(t *testing.T) {
	b, m := batch(3, 1, 2), actor(dtype.F32, 1)
	record(m, b.Samples, others(m))
	c := replaying(true)
	c.Loss.UseTIS = false
	e := engine(t, c, m, ref.New[float32]())
	if err := e.Score(t.Context(), b.Samples); err != nil {
		t.Fatal(err)
	}
	e.advantages(b.Samples)
	loss := func() float64 {
		e.opt.ZeroGrad()
		sums, err := e.gradients(t.Context(), b.Samples)
		if err != nil {
			t.Fatal(err)
		}
		return sums.Loss
	}
	for _, p := range e.Params() {
		if !isGate(p.Name) {
			continue
		}
		loss()
		grad := slices.Clone(p.Grad.F32())
		largest := 0
		for i, g := range grad {
			if math.Abs(float64(g)) > math.Abs(float64(grad[largest])) {
				largest = i
			}
		}
		const step = 0.02
		at, had := p.Value.F32(), p.Value.F32()[largest]
		at[largest] = had + step
		e.prepare()
		up := loss()
		at[largest] = had - step
		e.prepare()
		down := loss()
		at[largest] = had
		e.prepare()
		want := (up - down) / (2 * step)
		if got := float64(grad[largest]); got == 0 || math.Abs(got-want) > 0.02*math.Abs(want)+1e-5 { // float32 losses over a step of 0.02
			t.Errorf("%s: gradient is %v, finite differences give %v", p.Name, got, want)
		}
	}
}

// What is not recorded is refused by name; so is what cannot be of this model, and a table that differs.
func TestReplayRefuses(t *testing.T) {
	for _, tt := range []struct {
		spoil func(s *rl.Sample)
		want  string
	}{
		{func(s *rl.Sample) { s.Experts = nil }, "prompt p0, sample 1: experts of 0 tokens are recorded, want 10 for --use-rollout-routing-replay"},
		{func(s *rl.Sample) { s.Experts = s.Experts.Head(9) }, "prompt p0, sample 1: experts of 9 tokens are recorded, want 10"},
		{func(s *rl.Sample) { s.Entries = nil }, "prompt p0, sample 1: entries of 0 tokens are recorded, want 10 for --use-rollout-indexer-replay"},
		{func(s *rl.Sample) { s.Experts.Layers, s.Experts.Choices = 2, 4 }, "prompt p0, sample 1: routes are 4 of 4 experts in 2 layers, want 2 of 4 in 4"},
		{func(s *rl.Sample) { s.Experts.Rows[3*8+7] = 9 }, "prompt p0, sample 1: token 3 goes to expert 9 in layer 3, want less than 4"},
		{func(s *rl.Sample) { s.Entries.Most = 3 }, "prompt p0, sample 1: entries are 3 of windows of 4 tokens"},
	} {
		b, m := batch(4, 1, 3), actor(dtype.F32, 1)
		b.Samples[1].Prompt.Tokens = []int32{1, 2, 3, 4, 5}
		for _, s := range b.Samples {
			s.Response, s.LogProbs = []int32{6, 7, 8, 9, 1, 2}, make([]float32, 6)
		}
		record(m, b.Samples, own)
		tt.spoil(b.Samples[1])
		e := refEngine(t, replaying(false), dtype.F32)
		before := state(e)
		for what, err := range map[string]error{"score": e.Score(t.Context(), b.Samples), "step": stepError(t, e, b)} {
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v, want %s", what, err, tt.want)
			}
		}
		wantSame(t, "state after a refusal", state(e), before)
	}
}

func stepError(t *testing.T, e *Engine, b *rl.Batch) error {
	_, err := e.Step(t.Context(), b)
	return err
}

// A recorded choice of a layer with a table that is not the table's is an error, replayed or not: one of the engines has a wrong table.
func TestOtherTableIsAnError(t *testing.T) {
	for _, replay := range []bool{true, false} {
		b, m := batch(4, 1, 3), actor(dtype.F32, 1)
		record(m, b.Samples, own)
		s, c := b.Samples[1], replaying(false)
		c.Replay.Rollout = replay
		was := s.Experts.At(nil, 2, 1)
		s.Experts.Set(2, 1, []int32{was[1], was[0]}) // another order is no other choice
		if _, err := refEngine(t, c, dtype.F32).Step(t.Context(), b); err != nil {
			t.Fatalf("replay %v: the same experts in another order: %v", replay, err)
		}
		other := []int32{(was[0] + 1) % 4, was[1]}
		s.Experts.Set(2, 1, other)
		err := stepError(t, refEngine(t, c, dtype.F32), b)
		want := fmt.Sprintf("prompt p0, sample 1: layer 1, token 2 (id %d) went to experts %v when it was drawn, and the table sends it to %v", s.Tokens()[2], other, was)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "goroutine") {
			t.Errorf("replay %v: %v, want %s", replay, err, want)
		}
	}
}

// bare is a model that chooses nothing.
type bare struct{ model.Model }

func TestReplayNeedsSomethingToReplay(t *testing.T) {
	plain := small
	plain.Layers = plain.Layers[:1]
	for _, tt := range []struct {
		m    model.Model
		edit func(c *Config)
		want string
	}{
		{bare{actor(dtype.F32, 1)}, func(c *Config) { c.Replay.Rollout = true }, "--use-rollout-routing-replay: the model has no experts"},
		{bare{actor(dtype.F32, 1)}, func(c *Config) { c.Replay.Own = true }, "--use-routing-replay: the model has no experts"},
		{dsv4.New(plain, dtype.F32), func(c *Config) { c.Replay.Entries = true }, "--use-rollout-indexer-replay: no layer of the model has an indexer"},
		{actor(dtype.F32, 1), func(c *Config) { c.Replay.Own, c.Loss.Type = true, "sft_loss" }, "--loss-type is sft_loss, want no replay"},
	} {
		c := settings()
		tt.edit(&c)
		if _, err := New(c, tt.m, nil, ref.New[float32](), files()); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
}

// With --use-routing-replay a step sends tokens where the scoring pass did, though the weights have moved since; and a step that scores its samples
// itself records for those that follow.
func TestOwnReplay(t *testing.T) {
	for _, scored := range []bool{true, false} {
		moved := 0
		for _, replay := range []bool{true, false} {
			c := settings()
			c.Replay.Own, c.FreezeGate, c.Recompute, c.Optim.LR = replay, false, true, 0.1
			e, b := cpuEngine(t, c, dtype.F32), batch(5, 2, 4)
			if scored {
				if err := e.Score(t.Context(), b.Samples); err != nil {
					t.Fatal(err)
				}
			}
			mustStep(t, e, b) // moves the weights
			first := fmt.Sprint(e.ExpertLoad())
			mustStep(t, e, b)
			if same := fmt.Sprint(e.ExpertLoad()) == first; replay != same {
				t.Errorf("scored %v, replay %v: a second step sends tokens to the same experts: %v", scored, replay, same)
			}
			if replay != (b.Samples[0].TrainExperts != nil) {
				t.Errorf("replay %v: recorded is %v", replay, b.Samples[0].TrainExperts)
			}
			if !replay {
				continue
			}
			if b.Samples[3].TrainExperts = nil; stepError(t, e, b) == nil {
				t.Error("a scored sample without the choices of that pass is trained on")
			}
			moved++
		}
		if moved != 1 {
			t.Error("nothing was replayed")
		}
	}
}

// Where tables of 300 experts need two bytes, all is as with one.
func TestReplayOfManyExperts(t *testing.T) {
	wide := small
	wide.Experts = 300
	make := func() *dsv4.Model {
		m := dsv4.New(wide, dtype.F32)
		m.Init(1)
		return m
	}
	b := batch(6, 1, 3)
	record(make(), b.Samples, others(make()))
	high := slices.ContainsFunc(b.Samples[0].Experts.From(0), func(x int32) bool { return x > 255 })
	e, err := New(replaying(true), make(), nil, ref.New[float32](), Files{ConfigJSON: wide.JSON(), Layers: len(wide.Layers), Experts: 300})
	if err != nil {
		t.Fatal(err)
	}
	stats := mustStep(t, e, b)
	for i, s := range b.Samples {
		if want := forced(make(), s); !slices.Equal(s.TrainLogProbs, want) {
			t.Errorf("sample %d has logprobs %v, want %v", i, s.TrainLogProbs, want)
		}
	}
	if !high || stats["moe/router_agreement_used"] != 1 || stats["moe/router_agreement"] >= 1 {
		t.Errorf("numbers above 255: %v, agreement of what was used %v, own %v", high, stats["moe/router_agreement_used"], stats["moe/router_agreement"])
	}
}

func TestShared(t *testing.T) {
	for _, tt := range []struct {
		a, b []int32
		want int
	}{
		{[]int32{1, 2, 3}, []int32{3, 2, 1}, 3}, {[]int32{1, 1, 2}, []int32{1, 2, 2}, 2}, {[]int32{1, 1}, []int32{1, 1}, 2}, {[]int32{1, 2}, []int32{3, 4}, 0}, {nil, nil, 0},
	} {
		if got := shared(tt.a, tt.b); got != tt.want {
			t.Errorf("shared(%v, %v) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
	for _, tt := range []struct {
		a, b []int32
		want int
	}{
		{[]int32{1, 2, 5}, []int32{2, 3, 5}, 2}, {[]int32{1, -1, -1}, []int32{1, 2}, 1}, {[]int32{4}, []int32{1, 2}, 0}, {nil, []int32{1}, 0},
	} {
		if got := sharedAscending(tt.a, tt.b); got != tt.want {
			t.Errorf("sharedAscending(%v, %v) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
