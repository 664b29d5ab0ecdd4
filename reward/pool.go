package reward

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"furlong/rl"
)

// ErrTimeout is the error of a sample that was not judged within its deadline.
var ErrTimeout = errors.New("grader ran out of time")

// Config is what grading can be told. The zero value is not usable; start from Default.
type Config struct {
	Type     string        `flag:"rm-type" help:"grader: furlong, math, deepscaler, dapo, math-verify, gsm8k, countdown, gpqa, f1, exact, arithmetic, remote_rm or command; several with weights as furlong:0.8,remote_rm:0.2; a prompt's metadata rm_type goes first"`
	Workers  int           `flag:"grader-workers" help:"samples graded at once; 0 takes one a processor"`
	Deadline time.Duration `flag:"grader-timeout" help:"longest time for one sample"`
	Rules
	Scale  string  `flag:"reward-scale" choices:"01 pm1" help:"what right and wrong earn: 1 and 0, or 1 and -1"`
	Buffer int     `flag:"overlong-buffer-len" help:"responses that end within so many tokens of the limit lose reward, more the longer they are; 0 for none"`
	Factor float64 `flag:"overlong-penalty-factor" help:"what a response as long as the limit loses"`
	Outside
}

// Outside says who judges outside of this program.
type Outside struct {
	URL       string `flag:"rm-url" help:"for remote_rm: where prompt, response and label are posted as JSON"`
	KeyFile   string `flag:"rm-api-key-file" help:"file with the key that remote_rm sends as a bearer token"`
	RewardKey string `flag:"reward-key" help:"key of the reward where remote_rm or command answer with an object"`
	Command   string `flag:"custom-rm-command" help:"for command: program with arguments, apart by spaces, that reads a sample a line and answers each with a line"`
}

// PlusMinus is the scale in which a wrong response earns -1.
const PlusMinus = "pm1"

// Default returns the settings without a grader's name.
func Default() Config { return Config{Deadline: 5 * time.Second, Scale: "01", Factor: 1} }

// Validate reports everything that is wrong with c, in the words of the flags.
func (c Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if _, err := NewWith(c, c.named()); err != nil {
		bad("--rm-type: %w", err)
	}
	if c.Workers < 0 {
		bad("--grader-workers is %d, want 0 or more", c.Workers)
	}
	if c.Deadline <= 0 {
		bad("--grader-timeout is %v, want more than 0", c.Deadline)
	}
	if c.Buffer < 0 {
		bad("--overlong-buffer-len is %d, want 0 or more", c.Buffer)
	}
	if !(c.Factor >= 0 && c.Factor <= 100) {
		bad("--overlong-penalty-factor is %v, want 0 to 100", c.Factor)
	}
	errs = append(errs, c.checkOutside())
	return errors.Join(errs...)
}

// The names of those who judge outside.
const (
	RemoteName  = "remote_rm"
	CommandName = "command"
)

// named returns the names of those who judge outside, for checks before they are there.
func (c Config) named() map[string]rl.Rewarder {
	var none rl.Rewarder = graderOf{}
	return map[string]rl.Rewarder{RemoteName: none, CommandName: none}
}

// checkOutside reports who is asked for without being known, and the other way round. What a prompt's metadata asks for
// shows only later.
func (c Config) checkOutside() error {
	asks := func(name string) bool {
		parts, _ := partsOf(c.Type)
		return slices.ContainsFunc(parts, func(p part) bool { return p.name == name })
	}
	switch {
	case asks(RemoteName) && c.URL == "":
		return errors.New("--rm-type names remote_rm without --rm-url: where is it?")
	case asks(CommandName) && strings.TrimSpace(c.Command) == "":
		return errors.New("--rm-type names command without --custom-rm-command: which?")
	case c.KeyFile != "" && c.URL == "":
		return errors.New("--rm-api-key-file is given without --rm-url")
	}
	return nil
}

// A Pool guards a rewarder: each sample has a deadline, and a grader that panics or hangs spoils its sample and no other.
// Go cannot end a goroutine, so one that hangs is left behind with a copy of its sample and counted; it must not hang for
// ever. A Pool is an [rl.Rewarder] itself and may be used from several goroutines at once.
type Pool struct {
	rewarder rl.Rewarder
	workers  int
	deadline time.Duration
}

// NewPool returns a pool over r with the workers and the deadline of c.
func NewPool(r rl.Rewarder, c Config) *Pool {
	workers := c.Workers
	if workers < 1 {
		workers = runtime.GOMAXPROCS(0)
	}
	return &Pool{rewarder: r, workers: workers, deadline: c.Deadline}
}

// Reward judges one sample within the deadline. On any error s is Invalid, but for an end of ctx: then it is left alone.
func (p *Pool) Reward(ctx context.Context, s *rl.Sample) error {
	_, err := p.judge(ctx, s)
	return err
}

// A judged is what came of one sample.
type judged struct {
	sample  rl.Sample
	finding finding
	err     error
}

// judge is Reward with what the grader found besides.
func (p *Pool) judge(ctx context.Context, s *rl.Sample) (finding, error) {
	limited, cancel := context.WithTimeout(ctx, p.deadline)
	defer cancel()
	done, own := make(chan judged, 1), *s // a grader that is left behind must not see s any more
	go func() { done <- call(limited, p.rewarder, own) }()
	var j judged
	select {
	case j = <-done:
	case <-limited.Done():
		j.err = ErrTimeout
	}
	switch {
	case ctx.Err() != nil:
		return finding{}, ctx.Err()
	case errors.Is(j.err, context.DeadlineExceeded):
		j.err = ErrTimeout // the grader saw the deadline itself
	case j.err == nil && j.sample.Verdict == rl.Ungraded:
		j.err = errors.New("grader gave no verdict")
	}
	s.Note = noteOf(j.finding, j.err)
	if j.err != nil {
		spoil(s, j.err.Error())
		return j.finding, j.err
	}
	s.Reward, s.Verdict, s.Why = j.sample.Reward, j.sample.Verdict, j.sample.Why
	return j.finding, nil
}

// noteOf returns what is to be noted of a sample.
func noteOf(f finding, err error) rl.Note {
	switch {
	case errors.Is(err, ErrTimeout):
		return rl.TimedOut
	case err != nil:
		return rl.Broke
	case f.raised:
		return rl.Breaks
	case f.over:
		return rl.TooLarge
	}
	return rl.NoNote
}

// call grades a copy of a sample and turns a panic of the grader into an error.
func call(ctx context.Context, r rl.Rewarder, s rl.Sample) (j judged) {
	defer func() {
		if p := recover(); p != nil {
			j.err = fmt.Errorf("grader panicked: %v", p)
		}
	}()
	j.sample = s
	if ours, ok := r.(graderOf); ok {
		j.finding, j.err = ours.judge(ctx, &j.sample)
	} else {
		j.err = r.Reward(ctx, &j.sample)
	}
	return j
}

// Counts are the verdicts of many samples.
type Counts struct {
	Right, Wrong int
	Invalid      int // all that were not judged, those below included
	Timeout      int
	Broken       int   // graders that returned an error or panicked
	Raised       int   // wrong because a published grader breaks there
	Over         int   // wrong because a comparison was too large to be worked out
	First        error // the first of these errors
}

// add counts one sample.
func (c *Counts) add(s *rl.Sample, f finding, err error) {
	if f.raised {
		c.Raised++
	}
	if f.over {
		c.Over++
	}
	switch s.Verdict {
	case rl.Right:
		c.Right++
	case rl.Wrong:
		c.Wrong++
	default:
		c.Invalid++
	}
	switch {
	case errors.Is(err, ErrTimeout):
		c.Timeout++
	case err != nil:
		c.Broken++
	}
	if c.First == nil && err != nil {
		c.First = fmt.Errorf("sample %d of prompt %s: %w", s.Index, s.Prompt.ID, err)
	}
}

// Grade judges all samples, in place, and counts the verdicts. Its own error is only that ctx ended; then some samples are
// not judged.
func (p *Pool) Grade(ctx context.Context, samples []*rl.Sample) (Counts, error) {
	errs, findings := make([]error, len(samples)), make([]finding, len(samples))
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(p.workers, len(samples)) {
		workers.Go(func() {
			for i := range next {
				findings[i], errs[i] = p.judge(ctx, samples[i])
			}
		})
	}
	for i := range samples {
		next <- i
	}
	close(next)
	workers.Wait()
	if ctx.Err() != nil {
		return Counts{}, ctx.Err()
	}
	var c Counts
	for i, s := range samples {
		c.add(s, findings[i], errs[i])
	}
	return c, nil
}
