package recorded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"furlong/metrics/rollouts"
	"furlong/rl"
	"furlong/rl/rltest"
)

// cycleOf returns recorded samples: groups of two from a first one on, of which the last token of each is a version older.
func cycleOf(c, groups int) (all []*rl.Sample) {
	for g := range groups {
		p := &rl.Prompt{ID: fmt.Sprint(g), Group: int64((c-1)*groups + g), Tokens: []int32{int32(g)}}
		for i := range 2 {
			all = append(all, &rl.Sample{
				Prompt: p, Index: i, Sampling: rl.Sampling{Temperature: 0.5, TopP: 1, Seed: uint64(c)}, Response: []int32{1, 2, int32(c)}, LogProbs: []float32{-1, -2, -3},
				Versions: []rl.Span{{Version: rl.NewVersion(2, 40+c), Tokens: 2}, {Version: rl.NewVersion(2, 39+c), Tokens: 1}}, Reward: 0.5, Verdict: rl.Right,
			})
		}
	}
	return all
}

func write(t *testing.T, cycles, groups int) rollouts.Path {
	t.Helper()
	path := rollouts.Path(filepath.Join(t.TempDir(), "{cycle}.safetensors"))
	for c := 1; c <= cycles; c++ {
		if err := rollouts.Write(path.Of(c), rollouts.Rollouts{Cycle: c, Samples: cycleOf(c, groups)}); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func config(path rollouts.Path) Config {
	return Config{Path: path, Share: 1, Cycles: 3, Groups: 4, PerPrompt: 2, Limits: Limits{Vocab: 10, Context: 8}}
}

func open(t *testing.T, c Config) *Replay {
	t.Helper()
	r, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// ask asks for both samples of each prompt.
func ask(t *testing.T, r *Replay, prompts []*rl.Prompt) (all []*rl.Sample) {
	t.Helper()
	var reqs []rl.Request
	for _, p := range prompts {
		for i := range 2 {
			reqs = append(reqs, rl.Request{ID: 100 + int64(len(reqs)), Prompt: p, Index: i})
		}
	}
	for s, err := range r.Generate(t.Context(), reqs) {
		if err != nil {
			t.Fatal(err)
		}
		if want := 100 + int64(len(all)); s.Request != want {
			t.Errorf("sample %d answers request %d", len(all), s.Request)
		}
		all = append(all, s)
	}
	return all
}

func next(t *testing.T, r *Replay, n int) []*rl.Prompt {
	t.Helper()
	p, err := r.Next(n)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func serve(t *testing.T, r *Replay, v rl.Version) {
	t.Helper()
	if err := r.Update(t.Context(), rltest.Weights{V: v}); err != nil {
		t.Fatal(err)
	}
}

// Prompts and samples come as they were recorded, in whatever portions they are asked for; only versions count on from what is served.
func TestReplay(t *testing.T) {
	for _, portion := range []int{1, 3, 4, 12} {
		r := open(t, config(write(t, 3, 4)))
		serve(t, r, rl.NewVersion(0, 7))
		var got []*rl.Sample
		for range 12 / portion {
			got = append(got, ask(t, r, next(t, r, portion))...)
		}
		var want []*rl.Sample
		for c := 1; c <= 3; c++ {
			want = append(want, cycleOf(c, 4)...)
		}
		for i, s := range got {
			w := *want[i]
			w.Request, w.Versions = s.Request, []rl.Span{{Version: 7, Tokens: 2}, {Version: 6, Tokens: 1}}
			if !reflect.DeepEqual(s, &w) {
				t.Errorf("portions of %d: sample %d is %+v, want %+v", portion, i, s, &w)
			}
		}
		if _, err := r.Next(1); err == nil {
			t.Error("a fourth cycle was handed out")
		}
	}
}

// A replay that goes on from a state does what the unbroken one does, also for prompts handed out before it.
func TestReplayGoesOn(t *testing.T) {
	path := write(t, 3, 4)
	for broken := range 12 {
		first := open(t, config(path))
		had := next(t, first, broken)
		state, err := first.State()
		if err != nil {
			t.Fatal(err)
		}
		rest, again := next(t, first, 12-broken), open(t, config(path))
		if err := again.Restore(state); err != nil {
			t.Fatal(err)
		}
		if got := ask(t, again, had[max(0, len(had)-4):]); len(got) != 2*min(4, len(had)) {
			t.Errorf("broken after %d: %d samples of prompts from before", broken, len(got))
		}
		if got := next(t, again, 12-broken); !reflect.DeepEqual(got, rest) {
			t.Errorf("broken after %d: other prompts", broken)
		}
	}
}

func TestRestoreRefuses(t *testing.T) {
	for _, state := range []string{"", "{}", `{"cycle":0}`, `{"cycle":1,"done":5}`, `{"cycle":1,"done":-1}`, "[]"} {
		if err := open(t, config(write(t, 3, 4))).Restore([]byte(state)); err == nil {
			t.Errorf("%s was taken", state)
		}
	}
}

// A share keeps the first groups; one file for all cycles gives each groups of its own.
func TestShareAndOneFile(t *testing.T) {
	c := config(write(t, 1, 4))
	c.Path = rollouts.Path(c.Path.Of(1))
	c.Share, c.Groups = 0.6, Kept(4, 0.6)
	r := open(t, c)
	var groups []int64
	for range 3 {
		p := next(t, r, 2)
		for _, p := range p {
			groups = append(groups, p.Group)
		}
		if s := ask(t, r, p); len(s) != 4 || s[3].Prompt.ID != "1" {
			t.Errorf("%d samples, the last of prompt %s", len(s), s[3].Prompt.ID)
		}
	}
	if fmt.Sprint(groups) != "[0 1 2 3 4 5]" {
		t.Errorf("groups are %v", groups)
	}
}

// What does not fit is said before the run begins.
func TestOpenRefuses(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"cycle 4 of 4: open":                              func(c *Config) { c.Cycles = 4 },
		"want {cycle}, {cycle:06}":                        func(c *Config) { c.Path += "{x}" },
		"holds 4 groups, want --rollout-batch-size (8)":   func(c *Config) { c.Groups = 8 },
		"holds 2 groups, want --rollout-batch-size (4)":   func(c *Config) { c.Share = 0.5 },
		"8 samples in 4 groups, want --n-samples-per":     func(c *Config) { c.PerPrompt = 3 },
		"index is 1, want 0 to 0":                         func(c *Config) { c.PerPrompt = 1 },
		"has token 3, the model knows 3":                  func(c *Config) { c.Vocab = 3 },
		"has 4 tokens, want at most --context-length (3)": func(c *Config) { c.Context = 3 },
	} {
		c := config(write(t, 3, 4))
		change(&c)
		if _, err := Open(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// A request for what is not recorded is an error that names it.
func TestUnknownSample(t *testing.T) {
	r := open(t, config(write(t, 3, 4)))
	p := next(t, r, 1)[0]
	for _, err := range r.Generate(t.Context(), []rl.Request{{Prompt: p, Index: 5}}) {
		if err == nil || !strings.Contains(err.Error(), "sample 5 of group 0 is not recorded") {
			t.Errorf("got %v", err)
		}
	}
}

// marks is a trainer that leaves its mark.
type marks struct {
	Still
	err error
}

func (m marks) Step(_ context.Context, b *rl.Batch) (rl.Stats, error) {
	for _, s := range b.Samples {
		s.TrainLogProbs, s.Advantage = []float32{-1, -1, -1}, 2
	}
	return rl.Stats{"x": 1}, m.err
}

// A recorder writes the batch as it came and as the trainer left it, and says what the trainer said. What it wrote can be replayed.
func TestRecorder(t *testing.T) {
	dir := t.TempDir()
	r := &Recorder{TrainEngine: marks{}, Before: rollouts.Path(filepath.Join(dir, "b", "{cycle}")), After: rollouts.Path(filepath.Join(dir, "a", "{cycle}")), Model: "m"}
	for c := 1; c <= 3; c++ {
		stats, err := r.Step(t.Context(), &rl.Batch{Cycle: c, Samples: cycleOf(c, 4)})
		if err != nil || stats["x"] != 1 {
			t.Fatal(stats, err)
		}
	}
	for path, want := range map[rollouts.Path]float64{r.Before: 0, r.After: 2} {
		got, err := rollouts.Read(path.Of(2))
		if err != nil {
			t.Fatal(err)
		}
		if s := got.Samples[7]; got.Cycle != 2 || got.Model != "m" || s.Advantage != want || (s.TrainLogProbs != nil) != (want != 0) {
			t.Errorf("%s holds %+v", path, s)
		}
	}
	next(t, open(t, config(r.Before)), 12)
	next(t, open(t, config(r.After)), 12)
	r.TrainEngine = marks{err: errors.New("broken")}
	if _, err := r.Step(t.Context(), &rl.Batch{Cycle: 9, Samples: cycleOf(9, 4)}); err == nil {
		t.Error("the trainer's error is lost")
	}
}

// Files may begin with any cycle of their run, and go on with the next.
func TestOrderOfFiles(t *testing.T) {
	path := write(t, 3, 4)
	for n, c := range []int{41, 42, 43} {
		if err := rollouts.Write(path.Of(n+1), rollouts.Rollouts{Cycle: c, Samples: cycleOf(n+1, 4)}); err != nil {
			t.Fatal(err)
		}
	}
	next(t, open(t, config(path)), 12)
	if err := os.Rename(path.Of(3), path.Of(2)); err != nil {
		t.Fatal(err)
	}
	c := config(path)
	c.Cycles = 2
	if _, err := open(t, c).Next(8); err == nil || !strings.Contains(err.Error(), "2.safetensors: holds cycle 43 of its run, want 42") {
		t.Errorf("got %v, want the file named that holds another cycle", err)
	}
}

// A file that is cut off is named before a run begins, whichever cycle it is of.
func TestOpenSeesTornFiles(t *testing.T) {
	for name, size := range map[string]int64{"is 0 bytes": 0, "is 5 bytes": 5, "header is 4696 bytes": 2000, "tensors end at byte": 4800} {
		path := write(t, 3, 4)
		if err := os.Truncate(path.Of(3), size); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(config(path)); err == nil || !strings.Contains(err.Error(), "cycle 3 of 3: ") || !strings.Contains(err.Error(), "3.safetensors: "+name) {
			t.Errorf("cut to %d bytes: %v, want %q", size, err, name)
		}
	}
}
