package orchestrator

import (
	"errors"
	"fmt"
	"iter"
)

// A Kind is one kind of step of a run.
type Kind uint8

// The steps.
const (
	Push     Kind = iota // publish the trainer's weights to the rollout engine
	Eval                 // evaluate what the rollout engine serves
	Start                // begin to generate and grade the batch of a cycle
	Await                // wait until it is there
	Train                // take the cycle's optimizer step
	Save                 // write a checkpoint
	Sync                 // wait for a batch in flight, since weights are about to change under it
	Publish              // what a finished cycle has to say: metrics, samples
	Open                 // let samples be drawn without end
	Park                 // bring all that is drawn to rest, so that it can be saved
	Examine              // begin to evaluate the trainer's weights on engines of their own, beside what follows
	Examined             // wait until that evaluation is there
)

var kindNames = [...]string{"push", "eval", "start", "await", "train", "save", "sync", "publish", "open", "park", "examine", "examined"}

// The loops.
const (
	Synchronous = "sync"
	OneStepOff  = "one-step-off"
	FullyAsync  = "fully-async"
)

// String returns the step's name.
func (k Kind) String() string { return kindNames[k] }

// An Action is one step of a run.
type Action struct {
	Kind  Kind
	Cycle int
}

// String prints the step as scripts do: "train 3".
func (a Action) String() string { return fmt.Sprintf("%v %d", a.Kind, a.Cycle) }

// Plan says what a run does.
type Plan struct {
	Loop         string `flag:"loop" help:"sync: generate, then train; one-step-off: generate the next batch while training on this one; fully-async: generate without end, and train on what is there"`
	Cycles       int    `flag:"num-rollout" help:"cycles of the run: generate, train, push"`
	EvalEvery    int    `flag:"eval-interval" help:"cycles between evaluations; 0 for none but the first and the last"`
	NoFirstEval  bool   `flag:"skip-eval-before-train" help:"do not evaluate before the first cycle"`
	SaveEvery    int    `flag:"save-interval" help:"cycles between checkpoints; 0 for none but the last"`
	PushEvery    int    `flag:"update-weights-interval" help:"cycles between pushes of weights to the rollout engine"`
	NoPush       bool   `flag:"debug-skip-weight-update" help:"push weights at the start alone: the rollout engine serves those for ever"`
	ExitAfter    int    `flag:"debug-exit-after-rollout" help:"end after this cycle as if it were the last, with a checkpoint; schedules stay those of --num-rollout; 0 for the whole run"`
	WithEval     bool   // there is something to evaluate on
	WithSave     bool   // there is somewhere to save to
	ResumedAfter int    // the last cycle of the checkpoint that the run goes on from; 0 at a fresh start
	Evaluated    bool   // what was due to be evaluated there has been
	Apart        bool   // evaluations have engines of their own, and nothing waits for them but the next one and checkpoints

	Asked func() bool // somebody asks for a checkpoint beyond the planned ones, at the end of a cycle; nil: nobody does
}

// DefaultPlan returns the synchronous loop.
func DefaultPlan() Plan {
	return Plan{Loop: "sync", Cycles: 100, EvalEvery: 10, SaveEvery: 10, PushEvery: 1}
}

// Validate reports everything that is wrong with p, in the words of the flags.
func (p Plan) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if p.Loop != Synchronous && p.Loop != OneStepOff && p.Loop != FullyAsync {
		bad("--loop is %q, want sync, one-step-off or fully-async", p.Loop)
	}
	if p.Cycles < 1 {
		bad("--num-rollout is %d, want at least 1: no cycle is planned; furlong eval evaluates a policy without training it", p.Cycles)
	}
	if p.EvalEvery < 0 || p.SaveEvery < 0 {
		bad("--eval-interval %d, --save-interval %d: want 0 or more", p.EvalEvery, p.SaveEvery)
	}
	if p.ExitAfter < 0 {
		bad("--debug-exit-after-rollout is %d, want 0 or more", p.ExitAfter)
	}
	if p.PushEvery < 1 {
		bad("--update-weights-interval is %d, want at least 1", p.PushEvery)
	}
	if p.PushEvery > 1 && p.SaveEvery%p.PushEvery != 0 {
		bad("--save-interval is %d, want a multiple of --update-weights-interval (%d): a checkpoint between pushes does not hold the weights being served", p.SaveEvery, p.PushEvery)
	}
	if p.Apart && p.PushEvery > 1 && p.EvalEvery%p.PushEvery != 0 {
		bad("--eval-interval is %d with --eval-url, want a multiple of --update-weights-interval (%d): between pushes the trainer's weights have no version", p.EvalEvery, p.PushEvery)
	}
	if p.Loop == Synchronous && p.PushEvery > 1 {
		bad("--update-weights-interval is %d with --loop sync, which pushes every cycle: use 1, or --loop one-step-off", p.PushEvery)
	}
	return errors.Join(errs...)
}

// End returns the last cycle that is carried out.
func (p Plan) End() int {
	if p.ExitAfter > 0 {
		return min(p.Cycles, p.ExitAfter)
	}
	return p.Cycles
}

// Actions returns the steps of the run, in order. The first push is unconditional: what an engine loaded by itself is never trusted.
func (p Plan) Actions() iter.Seq[Action] {
	return func(yield func(Action) bool) {
		first := p.ResumedAfter + 1
		emit := emitter{yield: yield}
		emit.do(Push, p.ResumedAfter)
		if p.evalDue(p.ResumedAfter) && !p.Evaluated {
			p.evaluate(&emit, p.ResumedAfter)
		}
		emit.when(p.Loop == OneStepOff && first <= p.End(), Start, first)
		emit.when(p.Loop == FullyAsync && first <= p.End(), Open, first)
		for c := first; c <= p.End(); c++ {
			if p.Loop == FullyAsync {
				p.endless(&emit, c)
				continue
			}
			p.cycle(&emit, c)
		}
		emit.examinedBefore(true)
	}
}

// evaluate emits what evaluates the weights after cycle c. Apart, one evaluation goes on at a time.
func (p Plan) evaluate(emit *emitter, c int) {
	if !p.Apart {
		emit.do(Eval, c)
		return
	}
	emit.examinedBefore(true)
	emit.do(Examine, c)
	emit.examining, emit.examined = true, c
}

// endless emits the steps of cycle c where samples are drawn without end: neither a push nor an evaluation waits for them. Before a save, and after the last batch,
// they come to rest; they go on under the weights that are pushed then.
func (p Plan) endless(emit *emitter, c int) {
	last := c == p.End()
	emit.do(Await, c)
	emit.when(last, Park, c)
	emit.do(Train, c)
	emit.do(Publish, c)
	save := p.saveDue(c)
	emit.examinedBefore(save)
	emit.when(save && !last, Park, c)
	emit.when(save, Save, c)
	emit.when(p.pushDue(c), Push, c)
	emit.when(save && !last, Open, c+1)
	if p.evalDue(c) {
		p.evaluate(emit, c)
	}
}

// saveDue reports whether a checkpoint is taken after cycle c.
func (p Plan) saveDue(c int) bool {
	return p.WithSave && (c == p.End() || every(c, p.SaveEvery) || p.askedAt(c))
}

// pushDue reports whether weights are pushed after cycle c.
func (p Plan) pushDue(c int) bool { return !p.NoPush && (c == p.End() || c%p.PushEvery == 0) }

// cycle emits the steps of cycle c. What it has to say comes before the save, so that no checkpoint knows a cycle that the metrics
// do not; the save comes before the push, so that a checkpoint of cycle c holds what the next version serves; an evaluation after it.
func (p Plan) cycle(emit *emitter, c int) {
	last, ahead := c == p.End(), p.Loop == OneStepOff
	if !ahead {
		emit.do(Start, c)
	}
	emit.do(Await, c)
	emit.when(ahead && !last, Start, c+1)
	emit.do(Train, c)
	emit.do(Publish, c)
	save, push := p.saveDue(c), p.pushDue(c)
	emit.examinedBefore(save)
	emit.when(ahead && !last && (save || push), Sync, c+1)
	emit.when(save, Save, c)
	emit.when(push, Push, c)
	if p.evalDue(c) {
		p.evaluate(emit, c)
	}
}

// askedAt reports whether a checkpoint is asked for that can be taken after cycle c. One asked for between pushes waits for the next.
func (p Plan) askedAt(c int) bool { return c%p.PushEvery == 0 && p.Asked != nil && p.Asked() }

// evalDue reports whether the weights after cycle c are evaluated.
func (p Plan) evalDue(c int) bool {
	if c == 0 {
		return p.WithEval && !p.NoFirstEval
	}
	return p.WithEval && (c == p.End() || every(c, p.EvalEvery))
}

func every(c, interval int) bool { return interval > 0 && c%interval == 0 }

// An emitter yields until it is told to stop.
type emitter struct {
	yield     func(Action) bool
	stopped   bool
	examining bool // an evaluation goes on
	examined  int  // its cycle
}

// examinedBefore emits the end of the evaluation that goes on, where something must come after it: the next one, the end, or a checkpoint. An evaluation that a
// kill cuts off is then due again where the run goes on.
func (e *emitter) examinedBefore(due bool) {
	if due && e.examining {
		e.do(Examined, e.examined)
		e.examining = false
	}
}

func (e *emitter) do(k Kind, cycle int) {
	if !e.stopped {
		e.stopped = !e.yield(Action{k, cycle})
	}
}

func (e *emitter) when(cond bool, k Kind, cycle int) {
	if cond {
		e.do(k, cycle)
	}
}
