package gather

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"furlong/metrics/rollouts"
	"furlong/metrics/samples"
	"furlong/rl"
	"furlong/rl/ticktest"
)

// A life is what becomes of the samples of one prompt, and what must be there of them.
type life struct {
	*Gatherer
	t         *testing.T
	engine    *piecer
	x         *Group // in flight
	tokens    []int  // of each sample
	generated int64
}

// newLife returns the life of a prompt in a run of settings that are drawn.
func newLife(t *testing.T, rnd *rand.Rand) *life {
	r := Run{Settings: Default(), Batch: 1, PerPrompt: 1 + rnd.IntN(3), Seed: 3, Async: true, Sampling: rl.DefaultSampling()}
	r.Sampling.MaxTokens, r.Sampling.StopIDs, r.Sampling.TopK = 4+rnd.IntN(40), []int32{stopID}, rnd.IntN(2)*3
	r.Report = rl.Report{Experts: rnd.IntN(2) == 0, Entries: rnd.IntN(2) == 0, Top: rnd.IntN(2), Tail: rnd.IntN(2)}
	r.Bound, r.Unused, r.MaskOld = rnd.IntN(4)-1, []string{Drop, Retry, Mask}[rnd.IntN(3)], rnd.IntN(2) == 0
	l := &life{t: t, engine: &piecer{version: rl.NewVersion(0, 1)}, tokens: make([]int, r.PerPrompt)}
	l.Gatherer = New(r, l.parts())
	l.ask()
	return l
}

func (l *life) parts() Parts {
	return Parts{Engine: l.engine, Prompts: &ticktest.Prompts{}, Decode: func(ids []int32) string { return fmt.Sprint(ids) }, Clock: time.Now, Watches: true}
}

func (l *life) ask() {
	l.t.Helper()
	var err error
	if l.x, err = l.stock.ask(l.next, l.engine.version); err != nil {
		l.t.Fatal(err)
	}
}

// step has one thing happen to the samples.
func (l *life) step(op byte) {
	arg := int(op / 8)
	switch op % 8 {
	case 0:
		l.call(cutOff, arg)
	case 1:
		l.call(struck, arg)
	case 2:
		l.call(absent, arg)
	case 3:
		l.engine.version = rl.NewVersion(l.engine.version.Epoch()+arg%2, l.engine.version.Count()+1+arg%3)
	case 4:
		l.stock.back(l.x)
		l.restart()
		l.ask()
	case 5:
		l.spoilt(arg)
	case 6:
		l.stock.ended(l.x, false)
		l.stock.begun = append(l.stock.begun, l.stock.reset(l.x))
		clear(l.tokens)
		l.ask()
	case 7:
		l.engine.tool = arg % 4
		l.call([]ending{whole, text}[arg%2], arg)
	}
	l.hold()
}

// call asks the engine once for what is open.
func (l *life) call(how ending, tokens int) {
	open := slices.Clone(l.x.Samples)
	l.engine.end, l.engine.tokens = how, tokens
	err := l.receive(l.x, l.alone(l.t.Context(), l.x))
	if broke := how == struck || how == absent; broke != (err != nil) && len(l.engine.asked) > 0 {
		l.t.Fatalf("the call ends with %v", err)
	}
	for j, s := range open {
		if over(s) || how == absent {
			continue
		}
		n := min(length(s)+tokens, l.run.Sampling.MaxTokens)
		switch {
		case how == struck && j == l.engine.asked[len(l.engine.asked)-1].Index && (l.run.Report.Experts || l.run.Report.Entries):
			n = max(length(s), n-1) // it is drawn again
		case how == whole && n < l.run.Sampling.MaxTokens, how == text && n == 0:
			n++
		}
		l.generated += int64(n - l.tokens[j])
		l.tokens[j] = n
	}
}

// restart saves what there is in a file's form, and goes on from that.
func (l *life) restart() {
	l.t.Helper()
	s, err := l.State(0)
	if err != nil {
		l.t.Fatal(err)
	}
	raw, err := json.Marshal(s)
	if err != nil {
		l.t.Fatal(err)
	}
	var back State
	if err := json.Unmarshal(raw, &back); err != nil {
		l.t.Fatal(err)
	}
	before := l.Gatherer
	l.Gatherer = New(before.run, l.parts())
	if err := l.Restore(&back); err != nil {
		l.t.Fatal(err)
	}
	for _, lists := range [][2][]*Group{{before.stock.begun, l.stock.begun}, {before.stock.ready, l.stock.ready}} {
		for i, g := range lists[0] {
			for j, s := range g.Samples {
				if got := lists[1][i].Samples[j]; s != nil && (!slices.Equal(got.Response, s.Response) || !reflect.DeepEqual(got.Versions, s.Versions) || got.Stop != s.Stop) {
					l.t.Errorf("sample %d comes back as %+v, want %+v", j, got, s)
				}
			}
		}
	}
}

// hold holds all that must be true of the samples, whatever has happened.
func (l *life) hold() {
	l.t.Helper()
	for j, s := range l.x.Samples {
		if length(s) != l.tokens[j] {
			l.t.Fatalf("sample %d has %d tokens, want %d", j, length(s), l.tokens[j])
		}
		if s == nil {
			continue
		}
		if err := sound(s, l.run); err != nil {
			l.t.Fatalf("sample %d: %v", j, err)
		}
		if err := s.Check(); err != nil {
			l.t.Fatalf("sample %d is refused, though nothing is wrong with it: %v", j, err)
		}
	}
	for _, q := range l.x.requests(l.run) {
		if q.Sampling.MaxTokens != l.run.Sampling.MaxTokens || q.Begun.Len() != l.tokens[q.Index] || q.CheckBegun() != nil {
			l.t.Fatalf("sample %d is asked for with %d of %d tokens begun (%v), want %d of %d", q.Index, q.Begun.Len(), q.Sampling.MaxTokens, q.CheckBegun(), l.tokens[q.Index], l.run.Sampling.MaxTokens)
		}
	}
	if a := l.account(); a.Check() != nil || a.Tokens.Generated != l.generated {
		l.t.Fatalf("account is %v (%v), want %d tokens generated", a, a.Check(), l.generated)
	}
}

// wrongs are the ways in which an engine's answer can be none. Each reports whether it changed anything.
var wrongs = []func(l *life, s *rl.Sample) bool{
	func(_ *life, s *rl.Sample) bool { s.LogProbs = append(s.LogProbs, -1); return true },
	func(_ *life, s *rl.Sample) bool { s.LossMask = make([]bool, len(s.Response)+1); return true },
	func(_ *life, s *rl.Sample) bool {
		s.Versions = append(s.Versions, rl.Span{Version: 9, Tokens: 1})
		return true
	},
	func(_ *life, s *rl.Sample) bool { s.TruncLogProbs = make([]float32, len(s.Response)+1); return true },
	func(_ *life, s *rl.Sample) bool { s.Told = make([]rl.Told, len(s.Response)+1); return true },
	func(_ *life, s *rl.Sample) bool { s.Stop = rl.Unfinished; return true },
	func(_ *life, s *rl.Sample) bool {
		s.Sampling.MaxTokens = len(s.Response) - 1
		return len(s.Response) > 0
	},
	func(l *life, s *rl.Sample) bool {
		if l.run.Report.Experts && over(s) {
			s.Experts = s.Experts.Head(s.Experts.Len() - 1)
		}
		return l.run.Report.Experts && over(s)
	},
	func(l *life, s *rl.Sample) bool {
		if l.run.Report.Entries && over(s) {
			s.Entries.Tokens--
		}
		return l.run.Report.Entries && over(s)
	},
	func(l *life, s *rl.Sample) bool {
		if l.tokens[s.Index] > 0 {
			s.Response[l.tokens[s.Index]-1]++
		}
		return l.tokens[s.Index] > 0
	},
	func(l *life, s *rl.Sample) bool {
		if n := len(s.Response); l.tokens[s.Index] > 0 && n > 0 { // a piece is there twice
			s.Response, s.LogProbs = append(s.Response, s.Response[n-1]), append(s.LogProbs, s.LogProbs[n-1])
		}
		return l.tokens[s.Index] > 0
	},
}

// spoilt has the engine hand back what cannot be: it is refused by name, and the samples stay as they were.
func (l *life) spoilt(which int) {
	before, changed := slices.Clone(l.x.Samples), map[int]bool{}
	for j, s := range before {
		if s != nil {
			own := *s
			before[j] = &own
		}
	}
	l.engine.end, l.engine.tokens = whole, which%5
	l.engine.spoil = func(s *rl.Sample) { changed[s.Index] = wrongs[which%len(wrongs)](l, s) }
	err := l.receive(l.x, l.alone(l.t.Context(), l.x))
	l.engine.spoil = nil
	for j, s := range l.x.Samples {
		switch {
		case over(before[j]):
		case !changed[j]:
			l.generated += int64(length(s) - l.tokens[j])
			l.tokens[j] = length(s)
		case err == nil || !strings.Contains(err.Error(), fmt.Sprintf("engine gave sample %d of prompt 0 as what cannot be: ", j)):
			l.t.Fatalf("what was spoilt in way %d ends with %v, want sample %d refused", which%len(wrongs), err, j)
		case !reflect.DeepEqual(s, before[j]):
			l.t.Fatalf("sample %d was refused and is %+v, want %+v", j, s, before[j])
		}
	}
}

// finishUp draws the rest, has it judged, and follows it into its batch, its files and a checkpoint.
func (l *life) finishUp(rnd *rand.Rand) {
	l.call(whole, rnd.IntN(9))
	l.hold()
	if l.x.open() > 0 {
		l.t.Fatal("samples are open, want all at their ends")
	}
	for _, s := range l.x.Samples {
		s.Verdict, s.Reward = rl.Right, 1
		if n := rnd.IntN(4); n > 0 { // a tool said some of it
			s.LossMask = make([]bool, len(s.Response))
			for i := range s.LossMask {
				s.LossMask[i] = i%(n+1) != n
			}
		}
	}
	tools := map[int][]bool{}
	for j, s := range l.x.Samples {
		tools[j] = slices.Clone(s.LossMask)
	}
	l.stock.graded(l.x)
	l.restart()
	served := l.engine.version.Count() + rnd.IntN(3)
	b := &Batch{Cycle: 1, Groups: l.stock.pick(1), done: make(chan struct{})}
	b.Version = rl.NewVersion(0, 1+rnd.IntN(served))
	close(b.done)
	if err := l.finish(b, served); err != nil {
		l.t.Fatal(err)
	}
	l.batches[1] = b
	l.holdMasks(b, tools, served)
	if rnd.IntN(8) == 0 { // they reach the disk, which takes a while
		l.files(b)
	}
	l.restart()
	l.holdMasks(l.batches[1], tools, served)
	l.batches[1].Account = l.account()
	if then, err := l.Trained(1, true); err != nil {
		l.t.Fatalf("account is %v: %v", then, err)
	}
}

// holdMasks holds masks against what the run's settings say of each token.
func (l *life) holdMasks(b *Batch, tools map[int][]bool, served int) {
	l.t.Helper()
	for j, s := range b.Samples() {
		if err := sound(s, l.run); err != nil {
			l.t.Fatalf("sample %d of the batch: %v", j, err)
		}
		i := 0
		for _, sp := range s.Versions {
			c := sp.Version.Count()
			old := l.run.Bound >= 0 && l.run.Unused == Mask && served-c > l.run.Bound || l.run.MaskOld && c < b.Version.Count()
			for range sp.Tokens {
				want := !old && (tools[j] == nil || tools[j][i])
				if got := s.LossMask == nil || s.LossMask[i]; got != want {
					l.t.Fatalf("token %d of sample %d trains: %v, want %v", i, j, got, want)
				}
				i++
			}
		}
	}
}

// files writes a batch as recordings and as the run's samples, and reads both.
func (l *life) files(b *Batch) {
	l.t.Helper()
	dir := l.t.TempDir()
	path := filepath.Join(dir, "1.safetensors")
	if err := rollouts.Write(path, rollouts.Rollouts{Cycle: 1, Samples: b.Samples()}); err != nil {
		l.t.Fatal(err)
	}
	w, err := samples.Open(filepath.Join(dir, "samples"), samples.Options{Attempt: 1, Text: func(id int32) []byte { return fmt.Append(nil, id) }})
	if err != nil {
		l.t.Fatal(err)
	}
	body := samples.Batch{Cycle: 1}
	for _, s := range b.Samples() {
		body.Samples = append(body.Samples, samples.Sample{Sample: s, Mask: s.LossMask})
	}
	if err := w.Add(body); err != nil {
		l.t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		l.t.Fatal(err)
	}
	l.read(b, path, true)
	l.read(b, filepath.Join(dir, "samples", samples.Name(1, "")), false)
}

// read holds what a file gives back against what was written. Bodies hold none of what was asked for besides.
func (l *life) read(b *Batch, path string, all bool) {
	l.t.Helper()
	back, err := rollouts.Read(path)
	if err != nil {
		l.t.Fatal(err)
	}
	for j, want := range b.Samples() {
		got := back.Samples[j]
		if err := got.Check(); err != nil {
			l.t.Fatalf("%s: sample %d: %v", path, j, err)
		}
		if all {
			if err := sound(got, l.run); err != nil {
				l.t.Fatalf("%s: sample %d: %v", path, j, err)
			}
		}
		same := slices.Equal(got.Response, want.Response) && slices.Equal(got.LogProbs, want.LogProbs) && slices.Equal(got.Versions, want.Versions)
		if !same || !slices.Equal(got.LossMask, want.LossMask) || got.Stop != want.Stop || got.Sampling.MaxTokens != want.Sampling.MaxTokens {
			l.t.Fatalf("%s: sample %d is %+v, want %+v", path, j, got, want)
		}
	}
}

// live leads a life as bytes say.
func live(t *testing.T, seed uint64, ops []byte) {
	rnd := rand.New(rand.NewPCG(seed, 8))
	l := newLife(t, rnd)
	for _, op := range ops {
		if l.x.open() == 0 && op%8 != 6 && op%8 != 3 && op%8 != 4 {
			continue
		}
		l.step(op)
	}
	l.finishUp(rnd)
}

// Whatever happens to a sample on its way, its parts keep one length, and no token is lost or there twice.
func TestLives(t *testing.T) {
	for seed := range uint64(250) {
		rnd := rand.New(rand.NewPCG(seed, 4))
		ops := make([]byte, rnd.IntN(14))
		for i := range ops {
			ops[i] = byte(rnd.Uint32())
		}
		live(t, seed, ops)
		if t.Failed() {
			t.Fatalf("life %d, of %v", seed, ops)
		}
	}
}

// FuzzLife leads lives as the fuzzer likes.
func FuzzLife(f *testing.F) {
	f.Add(uint64(1), []byte{0x18, 3, 0x21, 4, 0x30, 5, 7})
	f.Add(uint64(2), []byte{0xf9, 6, 0x0b, 0x28, 0x1c, 0xff})
	f.Fuzz(func(t *testing.T, seed uint64, ops []byte) {
		live(t, seed, ops[:min(len(ops), 40)])
	})
}
