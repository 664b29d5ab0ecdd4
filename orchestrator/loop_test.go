package orchestrator

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"furlong/metrics"
	"furlong/rl"
	"furlong/rl/rltest"
)

// A sum is a trainer without a model: its weights are one number, the hash of everything it was trained on, in order.
type sum struct {
	weights uint64
	steps   int
	policy  *sync.Map // by version, what was published: it is read where samples are drawn meanwhile
	poison  int       // this many steps from now on are skipped
}

func (s *sum) Score(context.Context, []*rl.Sample) error { return nil }

func (s *sum) Step(ctx context.Context, b *rl.Batch) (rl.Stats, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.poison > 0 {
		s.poison--
		return rl.Stats{"train/skipped_steps": 1, "train/step": float64(s.steps)}, nil
	}
	h := fnv.New64a()
	fmt.Fprint(h, s.weights, b.Cycle)
	for _, x := range b.Samples {
		fmt.Fprint(h, x.Prompt.ID, x.Index, x.Response, x.LogProbs, x.Reward, x.Versions[0].Version.Count(), x.Experts.From(0))
		if x.Entries != nil {
			fmt.Fprint(h, x.Entries.Rows)
		}
	}
	s.weights = h.Sum64()
	s.steps++
	return rl.Stats{"train/step": float64(s.steps), "train/skipped_steps": 0}, nil
}

func (s *sum) Publish(v rl.Version) rl.Weights {
	s.policy.Store(v, s.weights)
	return rltest.Weights{V: v, List: []rl.Tensor{{Name: "w", Type: "I64", Shape: []int{1}, Data: make([]byte, 8)}}}
}

func (s *sum) Save(_ context.Context, dir string) error {
	b := binary.LittleEndian.AppendUint64(nil, s.weights)
	return os.WriteFile(filepath.Join(dir, "sum"), binary.LittleEndian.AppendUint64(b, uint64(s.steps)), 0o644)
}

func (s *sum) Load(_ context.Context, dir string) error {
	b, err := os.ReadFile(filepath.Join(dir, "sum"))
	if err == nil {
		s.weights, s.steps = binary.LittleEndian.Uint64(b), int(binary.LittleEndian.Uint64(b[8:]))
	}
	return err
}

// published returns the weights of a version, 0 where there is none.
func (s *sum) published(v rl.Version) uint64 {
	w, _ := s.policy.Load(v)
	weights, _ := w.(uint64)
	return weights
}

// answers draws each token from the policy's weights, the prompt and the seed; 0 ends a response.
func (s *sum) answers(v rl.Version, r rl.Request, soFar []int32) (int32, float32) {
	x := rl.MixSeed(0, s.published(v), uint64(r.Prompt.Group), r.Sampling.Seed, uint64(len(soFar)))
	return int32(x % 7), -float32(x%97) / 31
}

// A telling engine is a fake that tells which experts tokens went to, and which entries they read. Both follow from the tokens.
type telling struct{ *rltest.Fake }

func (e telling) Generate(ctx context.Context, reqs []rl.Request) iter.Seq2[*rl.Sample, error] {
	return func(yield func(*rl.Sample, error) bool) {
		for s, err := range e.Fake.Generate(ctx, reqs) {
			if err == nil {
				choose(s)
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

// choose gives a sample choices.
func choose(s *rl.Sample) {
	s.Experts, s.Entries = rl.NewRoutes(2, 1, 300), rl.NewEntries([]int{1}, 1, 1)
	tokens := s.Tokens()
	for pos, t := range tokens[:len(tokens)-1] {
		s.Experts.Add([]int32{40 * t, 299 - t})
		s.Entries.Add(s.Entries.Pack(nil, pos, []int32{t % int32(pos+1)}))
	}
}

// A counting source hands out prompts 0, 1, 2, ...
type counting struct{ next uint64 }

func (c *counting) Next(n int) ([]*rl.Prompt, error) {
	var out []*rl.Prompt
	for range n {
		out = append(out, &rl.Prompt{ID: fmt.Sprint(c.next), Group: int64(c.next), Tokens: []int32{1}})
		c.next++
	}
	return out, nil
}

func (c *counting) State() ([]byte, error) { return binary.LittleEndian.AppendUint64(nil, c.next), nil }

func (c *counting) Restore(b []byte) error {
	if len(b) != 8 {
		return errors.New("no state")
	}
	c.next = binary.LittleEndian.Uint64(b)
	return nil
}

var errKilled = errors.New("killed")

// A diary remembers the reports, and kills the run before its n-th step.
type diary struct {
	killAt  int // counts down; at 0 the run dies
	steps   int
	reports []Report
	updates []Update
	cancel  func() // instead of dying
	onCycle func(c int)
}

func (d *diary) Phase(Action) { d.steps++ }

func (d *diary) Span(int, string, string, time.Time, time.Time, rl.Version) error {
	if d.steps != d.killAt {
		return nil
	}
	if d.cancel != nil {
		d.cancel()
		return nil
	}
	return errKilled
}

func (d *diary) Updated(u *Update) error {
	d.updates = append(d.updates, *u)
	return nil
}

func (d *diary) Cycle(r *Report) error {
	d.reports = append(d.reports, *r)
	if d.onCycle != nil {
		d.onCycle(r.Cycle)
	}
	return nil
}

func newLoop(dir, kind string, epoch int, d *diary) (*Loop, *sum) {
	s := &sum{policy: &sync.Map{}}
	c := Default()
	c.Loop, c.Cycles, c.Batch, c.PerPrompt, c.SaveEvery, c.EvalEvery = kind, 6, 3, 4, 2, 0
	c.Sampling.MaxTokens, c.Sampling.StopIDs = 9, []int32{0}
	start := time.Unix(0, 0)
	return &Loop{
		Config: c, Rollout: telling{rltest.NewFake(s.answers)}, Train: s, Prompts: &counting{}, Watch: d, Dir: dir, Epoch: epoch,
		Decode: func(ids []int32) string { return "\xff" + fmt.Sprint(ids) },
		Clock:  func() time.Time { return start },
		Grade: func(_ context.Context, all []*rl.Sample) error {
			for _, x := range all {
				x.Reward, x.Verdict = float64(len(x.Response)%2), rl.Verdict(1+len(x.Response)%2)
			}
			return nil
		},
	}, s
}

func runLoop(t *testing.T, ctx context.Context, l *Loop) error {
	t.Helper()
	if _, err := l.Load(ctx); err != nil {
		t.Fatal(err)
	}
	return l.Run(ctx)
}

// A run killed after any step, and one interrupted there, ends with the weights of the unbroken run when it is resumed.
func TestResumeIsExact(t *testing.T) {
	for _, kind := range []string{"sync", "one-step-off"} {
		d := &diary{}
		straight, want := newLoop(t.TempDir(), kind, 0, d)
		if err := runLoop(t, t.Context(), straight); err != nil {
			t.Fatal(err)
		}
		for kill := 1; kill <= d.steps; kill++ {
			for _, gently := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%d/%v", kind, kill, gently), func(t *testing.T) {
					dir := t.TempDir()
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					broken := &diary{killAt: kill}
					if gently {
						broken.cancel = cancel
					}
					l, _ := newLoop(dir, kind, 0, broken)
					first := runLoop(t, ctx, l)
					rest := &diary{}
					l, got := newLoop(dir, kind, 1, rest)
					if err := runLoop(t, t.Context(), l); err != nil {
						t.Fatalf("resumed after %v: %v", first, err)
					}
					if got.weights != want.weights || l.pushes != straight.pushes {
						t.Errorf("weights %x after %d pushes, want %x after %d", got.weights, l.pushes, want.weights, straight.pushes)
					}
					checkCycles(t, append(broken.reports, rest.reports...), d.reports)
				})
			}
		}
	}
}

// checkCycles makes sure that every cycle was told, and that what was told twice was the same.
func checkCycles(t *testing.T, got, want []Report) {
	t.Helper()
	told := map[int]bool{}
	for _, r := range got {
		w := want[r.Cycle-1]
		told[r.Cycle] = true
		for i, x := range r.Samples {
			if x.Text != w.Samples[i].Text {
				t.Errorf("cycle %d: text of sample %d is %q, want %q", r.Cycle, i, x.Text, w.Samples[i].Text)
			}
		}
		for k, v := range r.Stats {
			if !strings.HasPrefix(k, "perf/") && w.Stats[k] != v {
				t.Errorf("cycle %d: %s is %v, want %v", r.Cycle, k, v, w.Stats[k])
			}
		}
	}
	if len(told) != len(want) {
		t.Errorf("cycles %v were told, want %d", slices.Sorted(maps.Keys(told)), len(want))
	}
}

func TestStaleness(t *testing.T) {
	for kind, want := range map[string]float64{"sync": 0, "one-step-off": 1} {
		d := &diary{}
		l, _ := newLoop("", kind, 0, d)
		if err := l.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, r := range d.reports[1:] {
			if got := r.Stats["rollout/staleness/max"]; got != want {
				t.Errorf("%s: cycle %d is %v versions behind, want %v", kind, r.Cycle, got, want)
			}
		}
	}
}

// Between pushes the trainer moves on while samples are of the newest version there is; evaluations trail it too.
func TestStepsSinceThePush(t *testing.T) {
	d := &diary{}
	l, _ := newLoop("", "sync", 0, d)
	l.Config.PushEvery, l.Config.SaveEvery, l.Config.EvalEvery = 2, 2, 1
	var lags []int
	l.Eval = func(_ context.Context, _, lag int) error {
		lags = append(lags, lag)
		return nil
	}
	if err := l.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, r := range d.reports {
		if got, want := r.Stats["rollout/staleness/steps"], float64(i%2); got != want {
			t.Errorf("cycle %d: served weights trail by %v steps, want %v", r.Cycle, got, want)
		}
		if got := r.Stats["rollout/staleness/max"]; got != 0 {
			t.Errorf("cycle %d is %v versions behind, want 0", r.Cycle, got)
		}
	}
	if want := []int{0, 1, 0, 1, 0, 1, 0}; !slices.Equal(lags, want) {
		t.Errorf("evaluations trail by %v cycles, want %v", lags, want)
	}
}

func TestSeriesAreInTheTable(t *testing.T) {
	d := &diary{}
	l, _ := newLoop(t.TempDir(), "sync", 0, d)
	if err := l.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name := range d.reports[3].Stats {
		if _, ok := metrics.Lookup(name); !ok {
			t.Errorf("%s is not in the table of series", name)
		}
	}
}

func TestSkippedSteps(t *testing.T) {
	d := &diary{}
	l, s := newLoop("", "sync", 0, d)
	s.poison = 2
	if err := l.Run(t.Context()); err != nil {
		t.Fatalf("two skipped steps: %v", err)
	}
	if len(d.reports) != 6 {
		t.Errorf("%d cycles reported, want 6", len(d.reports))
	}
}

// The cycle that ends a run by its skipped step is written down, and the error names the checkpoint to go back to.
func TestTooManySkippedSteps(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct {
		from, ends int // steps are skipped after so many cycles; the run ends in this one
		saved      string
	}{
		{0, 3, "; there is no checkpoint yet"},
		{2, 5, "; the newest checkpoint is " + filepath.Join(dir, "step-000004")},
	} {
		d := &diary{}
		l, s := newLoop(dir, "sync", 0, d)
		l.Eval = func(_ context.Context, cycle, _ int) error {
			if cycle == tt.from {
				s.poison = 3
			}
			return nil
		}
		l.Config.EvalEvery, l.Config.SaveEvery = 1, 4
		err := l.Run(t.Context())
		want := fmt.Sprintf("cycle %d: publish: 3 optimizer steps in a row were skipped (--max-skipped-steps)", tt.ends)
		if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.HasSuffix(err.Error(), tt.saved) {
			t.Errorf("skipped from cycle %d: %v, want %s ... %s", tt.from, err, want, tt.saved)
		}
		if n := len(d.reports); n != tt.ends || d.reports[n-1].Stats["train/skipped_steps"] != 1 {
			t.Errorf("skipped from cycle %d: %d cycles reported, want %d, the last with a skipped step", tt.from, n, tt.ends)
		}
	}
}

func TestDamagedCheckpoint(t *testing.T) {
	dir := t.TempDir()
	l, _ := newLoop(dir, "sync", 0, &diary{})
	if err := l.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	last := filepath.Join(dir, "step-000006", trainDir, "sum")
	if err := os.WriteFile(last, []byte("0123456789abcdef"), 0o644); err != nil {
		t.Fatal(err)
	}
	l, _ = newLoop(dir, "sync", 1, &diary{})
	if _, err := l.Load(t.Context()); err == nil || !strings.Contains(err.Error(), "trainer/sum has changed") {
		t.Errorf("a changed file gives %v, want an error that names it", err)
	}
}

func TestOldCheckpointsGo(t *testing.T) {
	dir := t.TempDir()
	l, _ := newLoop(dir, "sync", 0, &diary{})
	l.Config.Retain, l.Config.Keep = 2, 1
	if err := l.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, cycles, err := checkpoints(dir)
	if want := []int{2, 4, 6}; err != nil || !slices.Equal(cycles, want) {
		t.Errorf("checkpoints %v, %v, want %v", cycles, err, want)
	}
}
