package reward

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"furlong/rl"
)

// rewarder makes a function a rewarder.
type rewarder func(ctx context.Context, s *rl.Sample) error

func (f rewarder) Reward(ctx context.Context, s *rl.Sample) error { return f(ctx, s) }

// byIndex judges right, wrong, invalid by turns, and breaks in several ways at others.
func byIndex(ctx context.Context, s *rl.Sample) error {
	switch s.Index % 7 {
	case 0:
		s.Verdict, s.Reward = rl.Right, 1
	case 1, 2:
		s.Verdict = rl.Wrong
	case 3:
		s.Verdict = rl.Invalid
	case 4:
		panic("index out of range")
	case 5:
		return errors.New("server is away")
	case 6:
		s.Verdict, s.Reward = rl.Right, 1
		time.Sleep(time.Hour) // does not look at ctx
	}
	s.Why = fmt.Sprint(s.Index)
	return nil
}

// indexed returns n samples.
func indexed(n int) []*rl.Sample {
	samples := make([]*rl.Sample, n)
	for i := range samples {
		samples[i] = &rl.Sample{Index: i, Prompt: &rl.Prompt{ID: "p"}}
	}
	return samples
}

func TestPoolGuards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := NewPool(rewarder(byIndex), Config{Workers: 3, Deadline: time.Second})
		samples := indexed(14)
		c, err := pool.Grade(t.Context(), samples)
		if err != nil {
			t.Fatal(err)
		}
		if c.Right != 2 || c.Wrong != 4 || c.Invalid != 8 || c.Timeout != 2 || c.Broken != 4 {
			t.Errorf("counts are %+v, want 2 right, 4 wrong, 8 invalid, 2 of them out of time and 4 broken", c)
		}
		if c.First == nil || c.First.Error() != "sample 4 of prompt p: grader panicked: index out of range" {
			t.Errorf("first error is %v", c.First)
		}
		for i, why := range map[int]string{0: "0", 1: "1", 3: "3", 4: "grader panicked", 5: "server is away", 6: "grader ran out of time", 13: "ran out of time"} {
			if s := samples[i]; !strings.Contains(s.Why, why) || (s.Reward == 1) != (i%7 == 0) {
				t.Errorf("sample %d is %v %v %q, want %q", i, s.Reward, s.Verdict, s.Why, why)
			}
		}
		synctest.Wait()
		time.Sleep(2 * time.Hour) // let the graders that hung come back: they must not touch their samples
		if s := samples[6]; s.Verdict != rl.Invalid || s.Reward != 0 {
			t.Errorf("after its grader came back sample 6 is %v", s.Verdict)
		}
	})
}

func TestPoolSeesObedientGraders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits := rewarder(func(ctx context.Context, s *rl.Sample) error {
			<-ctx.Done()
			return fmt.Errorf("asking the judge: %w", ctx.Err())
		})
		s := indexed(1)[0]
		if err := NewPool(waits, Config{Deadline: time.Second}).Reward(t.Context(), s); !errors.Is(err, ErrTimeout) || s.Verdict != rl.Invalid {
			t.Errorf("Reward = %v, verdict %v, want ErrTimeout and invalid", err, s.Verdict)
		}
	})
}

func TestPoolWantsAVerdict(t *testing.T) {
	silent := rewarder(func(context.Context, *rl.Sample) error { return nil })
	s := indexed(1)[0]
	if err := NewPool(silent, Default()).Reward(t.Context(), s); err == nil || s.Verdict != rl.Invalid {
		t.Errorf("Reward = %v, verdict %v, want an error and invalid", err, s.Verdict)
	}
}

func TestPoolEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		waits := rewarder(func(ctx context.Context, s *rl.Sample) error { <-ctx.Done(); return ctx.Err() })
		time.AfterFunc(time.Second, cancel)
		samples := indexed(10)
		_, err := NewPool(waits, Config{Workers: 2, Deadline: time.Hour}).Grade(ctx, samples)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Grade = %v, want context.Canceled", err)
		}
		for i, s := range samples {
			if s.Verdict != rl.Ungraded {
				t.Errorf("sample %d is %v, want it left alone", i, s.Verdict)
			}
		}
	})
}

// A thousand gradings by 64 workers give what one gives.
func TestWorkersDoNotMatter(t *testing.T) {
	make1000 := func() []*rl.Sample {
		samples := indexed(1000)
		for i, s := range samples {
			p := pairs[i%len(pairs)]
			s.Prompt.Label, s.Text, s.Stop = p.label, p.text, rl.StopToken
		}
		return samples
	}
	r, _ := New("furlong")
	serial, parallel := make1000(), make1000()
	one, err1 := NewPool(r, Config{Workers: 1, Deadline: time.Minute}).Grade(t.Context(), serial)
	many, err2 := NewPool(r, Config{Workers: 64, Deadline: time.Minute}).Grade(t.Context(), parallel)
	if err1 != nil || err2 != nil || one != many || !reflect.DeepEqual(serial, parallel) {
		t.Errorf("one worker: %+v, %v; 64: %+v, %v", one, err1, many, err2)
	}
	if one.Right+one.Wrong != 1000 || one.Right == 0 || one.Wrong == 0 {
		t.Errorf("counts are %+v, want 1000 judged", one)
	}
}

func TestValidateNamesFlags(t *testing.T) {
	err := (Config{Type: "mth", Workers: -1}).Validate()
	for _, want := range []string{`--rm-type: grader is "mth"`, "--grader-workers is -1", "--grader-timeout is 0s"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("complaint is %v, want %s in it", err, want)
		}
	}
	if err := Default().Validate(); err != nil {
		t.Errorf("default: %v", err)
	}
}

// finds is a judger that finds a sample wrong for a reason.
type finds finding

func (f finds) judge(_ context.Context, s *rl.Sample) (finding, error) {
	s.Verdict = rl.Wrong
	return finding(f), nil
}

func (f finds) label(context.Context, *rl.Prompt) (finding, error) { return finding(f), nil }

// What a verdict rests on besides a comparison is noted on the sample, and goes away when it is judged again.
func TestNotes(t *testing.T) {
	named := func(name string) rl.Rewarder {
		r, err := New(name)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for name, tt := range map[string]struct {
		r           rl.Rewarder
		text, label string
		want        rl.Note
	}{
		"none":      {named("furlong"), `\boxed{7}`, "7", rl.NoNote},
		"too large": {graderOf{finds{over: true}}, "", "", rl.TooLarge},
		"breaks":    {named("dapo"), "Answer: 7", "seven", rl.Breaks},
		"timed out": {rewarder(func(context.Context, *rl.Sample) error { return context.DeadlineExceeded }), "", "", rl.TimedOut},
		"broke":     {rewarder(func(context.Context, *rl.Sample) error { panic("x") }), "", "", rl.Broke},
	} {
		s := &rl.Sample{Prompt: &rl.Prompt{Label: tt.label}, Text: tt.text, Stop: rl.StopToken, Note: rl.Broke}
		_ = NewPool(tt.r, Default()).Reward(t.Context(), s) // the note says what the error does
		if s.Note != tt.want {
			t.Errorf("%s: note is %d, want %d: %s", name, s.Note, tt.want, s.Why)
		}
	}
}
