package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"furlong/config"
	"furlong/dtype"
	"furlong/journal"
	"furlong/kernels"
	"furlong/kernels/cpu"
	"furlong/metrics/disk"
	rundir "furlong/metrics/run"
	"furlong/model/dsv4"
	"furlong/orchestrator"
	"furlong/rl"
	"furlong/tensor"
	"furlong/train"
)

// A faulty backend is a rollout engine's that can be told to make mistakes.
type faulty struct {
	kernels.Backend
	spoil *atomic.Int64 // so many reads of attention state from now on find it damaged, and leave it so
	askew *atomic.Bool  // norms are off by a thousandth
}

func (f faulty) Attend(o, lse, q, sink *tensor.Tensor, heads int, views ...kernels.View) {
	if f.spoil.Add(-1) >= 0 {
		for _, v := range views {
			for t := range v.Lo {
				for _, row := range v.At(t) {
					values := v.Pool.F32()[int(row)*v.Pool.Dim():][:v.Pool.Dim()]
					for i := range values {
						values[i] = 1 - values[i]
					}
				}
			}
		}
	}
	f.Backend.Attend(o, lse, q, sink, heads, views...)
}

func (f faulty) RMSNorm(y, x, w *tensor.Tensor, dim int, eps float64) {
	f.Backend.RMSNorm(y, x, w, dim, eps)
	if f.askew.Load() {
		for i := range y.F32() {
			y.F32()[i] *= 1.001
		}
	}
}

func (faulty) Split(int) []kernels.Backend { return nil }

// prompted hands out prompts that begin alike.
type prompted struct{ next uint64 }

func (p *prompted) Next(n int) ([]*rl.Prompt, error) {
	var out []*rl.Prompt
	for range n {
		tokens := []int32{0, 5, 9, 13, 17, 21, 25, 29, 33, 37, int32(2 + p.next%40), 3}
		out = append(out, &rl.Prompt{ID: fmt.Sprint(p.next), Group: int64(p.next), Tokens: tokens})
		p.next++
	}
	return out, nil
}

func (p *prompted) State() ([]byte, error) { return binary.LittleEndian.AppendUint64(nil, p.next), nil }

func (p *prompted) Restore(b []byte) error {
	p.next = binary.LittleEndian.Uint64(b)
	return nil
}

// A planter plants a fault as a cycle's generation begins.
type planter struct {
	*journal.Journal
	at     int
	plant  func() error
	failed error
}

func (p *planter) Phase(a orchestrator.Action) {
	p.Journal.Phase(a)
	if a.Kind == orchestrator.Start && a.Cycle == p.at && p.plant != nil {
		p.failed = p.plant()
	}
}

// A patient is a run of a small policy whose rollout engine can be made ill.
type patient struct {
	*pair
	loop  *orchestrator.Loop
	watch *planter
	path  string
	k     faulty
}

const patientCycles = 4

// newPatient makes a run of a few cycles, the engines in the formats of p.
func newPatient(t *testing.T, p pairing) *patient {
	t.Helper()
	k := cpu.Open(cpu.Options{Threads: 1, Sleepy: true})
	t.Cleanup(k.Close)
	own := cpu.Open(cpu.Options{Threads: 1, Sleepy: true})
	t.Cleanup(own.Close)
	x := &patient{k: faulty{Backend: own, spoil: &atomic.Int64{}, askew: &atomic.Bool{}}, path: filepath.Join(t.TempDir(), "run")}
	x.pair = &pair{T: t, roll: sampler(t, p, x.k), actor: learner(t, p, k)}
	self, err := rundir.Self()
	if err != nil {
		t.Fatal(err)
	}
	d, err := rundir.Create(x.path, rundir.Options{
		Now: time.Now, Log: slog.New(slog.DiscardHandler), Self: self, Planned: patientCycles, Text: func(int32) []byte { return []byte("x") },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.End(rundir.Finished, "test") })
	book := &journal.Journal{Dir: d, Log: slog.New(slog.DiscardHandler), Tell: func(int, string, rl.Stats) {}, Mixed: p.actor != p.rollout}
	x.watch = &planter{Journal: book, at: 3}
	x.loop = x.newLoop()
	return x
}

func (x *patient) newLoop() *orchestrator.Loop {
	c := orchestrator.Default()
	c.Cycles, c.Batch, c.PerPrompt, c.EvalEvery, c.SaveEvery = patientCycles, 4, 4, 0, 0
	c.Sampling.MaxTokens, c.Sampling.StopIDs = 14, []int32{1}
	return &orchestrator.Loop{
		Config: c, Rollout: x.roll, Train: x.actor, Prompts: &prompted{}, Watch: x.watch, Watches: true, Clock: time.Now,
		Decode: func(ids []int32) string { return fmt.Sprint(ids) },
		Grade: func(_ context.Context, all []*rl.Sample) error {
			for _, s := range all {
				s.Verdict, s.Reward = rl.Verdict(1+s.Index%2), float64(1-s.Index%2)
			}
			return nil
		},
		Rescore: func(ctx context.Context, s []*rl.Sample) (*rl.Rescored, error) {
			return x.roll.Rescore(ctx, dsv4.New(drifting, dtype.BF16), s)
		},
	}
}

// run runs to the end and returns the alarms of an id.
func (x *patient) run(id string) (alarms []rundir.Alarm) {
	x.Helper()
	if err := errors.Join(x.loop.Run(x.Context()), x.watch.failed); err != nil {
		x.Fatal(err)
	}
	all, _, err := disk.ReadLines(filepath.Join(x.path, rundir.AlarmsFile), rundir.ParseAlarm)
	if err != nil {
		x.Fatal(err)
	}
	return slices.DeleteFunc(all, func(a rundir.Alarm) bool { return a.ID != id })
}

// look lets f change a weight of the rollout engine, as no engine does.
func (x *patient) look(name string, f func(v *tensor.Tensor)) error {
	found := false
	err := x.roll.Look(x.Context(), func(params []*tensor.Param) {
		for _, p := range params {
			if p.Name == name {
				found = true
				f(p.Value)
			}
		}
	})
	if err == nil && !found {
		err = fmt.Errorf("no weight %s", name)
	}
	return err
}

// flip changes the signs of every other number of BF16 memory, and of what is like it.
func flip(b []byte) {
	for i := 1; i < len(b); i += 4 {
		b[i] ^= 0x80
	}
}

// planted are the faults, and what the alarm says of each.
var planted = []struct {
	name  string
	plant func(x *patient) error
	wants []string
}{
	{
		"a spoiled page", func(x *patient) error { x.k.spoil.Store(40); return nil },
		[]string{"stale or damaged attention state in the running rollout engine", "a cold engine of version 3 is at most 0 nats from the trainer", "--sglang-disable-radix-cache"},
	},
	{
		"a spoiled layout", func(x *patient) error {
			return x.look("lm_head.weight", func(v *tensor.Tensor) {
				for _, part := range v.Layout.Memory() {
					flip(part)
				}
			})
		},
		[]string{"stale or damaged derived state in the running rollout engine", "lm_head.weight", "a cold engine of version 3 is at most 0 nats from the trainer"},
	},
	{
		"a spoiled weight", func(x *patient) error {
			return x.look("model.embed_tokens.weight", func(v *tensor.Tensor) { flip(v.Mem) })
		},
		[]string{"damaged weights in the running rollout engine: model.embed_tokens.weight is not what came with version 3", "nats from the trainer"},
	},
	{
		"other numerics", func(x *patient) error { x.k.askew.Store(true); return nil },
		[]string{"Likely cause: numerics: a cold engine of version 3 gives the running one's logprobs bit for bit", "Next: furlong parity"},
	},
}

// Faults that are planted in the running rollout engine are alarms that name them, in the cycle in which they come, once. The run goes on to the same weights
// as one that looked for no cause.
func TestPlantedFaultsAreNamed(t *testing.T) {
	for _, tt := range planted {
		t.Run(tt.name, func(t *testing.T) {
			unlessShort(t, "a_spoiled_page")
			x := newPatient(t, pairing{actor: "bf16", rollout: "bf16", rate: 3e-3})
			x.watch.plant = func() error { return tt.plant(x) }
			alarms := x.run("gap")
			if len(alarms) == 0 || alarms[0].Kind != rundir.Raised || alarms[0].Cycle != 3 {
				t.Fatalf("alarms are %+v, want one of cycle 3", alarms)
			}
			for _, want := range tt.wants {
				if !strings.Contains(alarms[0].Text, want) {
					t.Errorf("the alarm does not say %q:\n%s", want, alarms[0].Text)
				}
			}
			blind := newPatient(t, pairing{actor: "bf16", rollout: "bf16", rate: 3e-3})
			blind.watch.plant, blind.loop.Rescore = func() error { return tt.plant(blind) }, nil
			blind.run("gap")
			if a, b := train.Digest(x.actor.Params()), train.Digest(blind.actor.Params()); a != b {
				t.Errorf("with the cause looked for the run ends in %s, without in %s", a, b)
			}
		})
	}
}

// Between formats a gap is no fault, and a jump of it is: here of pages that are spoiled in the twelfth cycle.
func TestPlantedJumpIsNamed(t *testing.T) {
	unlessShort(t)
	x := newPatient(t, pairing{actor: "bf16", rollout: "fp8", rate: 1e-4})
	x.loop.Config.Cycles, x.watch.at = 13, 12
	x.watch.plant = func() error { x.k.spoil.Store(40); return nil }
	alarms := x.run("gap-jump")
	if len(alarms) != 2 || alarms[0].Kind != rundir.Raised || alarms[0].Cycle != 12 || alarms[1].Kind != rundir.Cleared {
		t.Fatalf("alarms are %+v, want one of cycle 12, and its end", alarms)
	}
	for _, want := range []string{"the gap has jumped: its mean is ", "(median of 11 cycles)", "stale or damaged attention state in the running rollout engine", "Asked again without pages the running engine agrees with the cold one"} {
		if !strings.Contains(alarms[0].Text, want) {
			t.Errorf("the alarm does not say %q:\n%s", want, alarms[0].Text)
		}
	}
}

// A sound run raises nothing, and computing samples again in every one of its cycles changes nothing.
func TestSoundRunsRaiseNothing(t *testing.T) {
	p := pairing{actor: "fp8", rollout: "fp8", rate: 3e-3}
	plain := newPatient(t, p)
	if alarms := plain.run("gap"); len(alarms) != 0 {
		t.Errorf("alarms of a sound run: %+v", alarms)
	}
	asked := newPatient(t, p)
	asked.loop.Watch = &curious{asked.watch, t}
	asked.run("gap")
	if a, b := train.Digest(plain.actor.Params()), train.Digest(asked.actor.Params()); a != b {
		t.Errorf("asked in every cycle the run ends in %s, else in %s", b, a)
	}
}

// A curious watcher has the whole batch computed again, which must find nothing.
type curious struct {
	*planter
	t *testing.T
}

func (c *curious) Cycle(r *orchestrator.Report) error {
	got, err := r.Rescore(r.Samples)
	if err != nil {
		return err
	}
	for i, s := range r.Samples {
		if !slices.Equal(got.Cold[i], s.TrainLogProbs) || !slices.Equal(got.Running[i], s.LogProbs) {
			c.t.Errorf("cycle %d, sample %d: a cold engine says %v, the engine %v, the trainer %v", r.Cycle, i, got.Cold[i], got.Running[i], s.TrainLogProbs)
		}
	}
	return c.planter.Cycle(r)
}

// The line that an alarm gives is one that furlong parity reads, with the formats of the run, and its newest checkpoint once there is one.
func TestTheParityLineIsACommand(t *testing.T) {
	x := newPatient(t, pairing{actor: "bf16", rollout: "bf16"})
	for _, tt := range []struct {
		change func(f *trainFlags)
		saved  bool
		want   string
	}{
		{func(*trainFlags) {}, false, "furlong parity rollout:format=bf16,kv=auto trainer:format=bf16,kv=auto"},
		{func(f *trainFlags) { f.rollout.Format, f.model.Checkpoint = "fp8+fp4", "a b" }, false, "furlong parity rollout:format=fp8+fp4,kv=auto trainer:format=bf16,kv=auto --hf-checkpoint 'a b'"},
		{func(f *trainFlags) { f.servers.URLs = []string{"http://127.0.0.1:30000"} }, true, "furlong parity http://127.0.0.1:30000 trainer:format=bf16,kv=auto --hf-checkpoint " + filepath.Join(x.path, "checkpoints", "step-000004", "trainer", "model")},
	} {
		j := &job{f: newTrainFlags(), dir: x.watch.Dir}
		tt.change(j.f)
		if tt.saved {
			if err := os.MkdirAll(filepath.Join(x.path, "checkpoints", "step-000004"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		got := j.parityCommand()
		if got != tt.want {
			t.Errorf("the line is %s, want %s", got, tt.want)
		}
		words, err := config.Split(got)
		if err != nil || len(words) < 3 {
			t.Fatalf("%s: %v", got, err)
		}
		if err := newParityFlags().set().Parse(words[2:]); err != nil {
			t.Errorf("%s: %v", got, err)
		}
	}
}
