package train

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kernels/split"
	"furlong/model"
	"furlong/ops"
	"furlong/rl"
	"furlong/tensor"
)

// A lane computes micro-batches, one after the other, on a share of the backend and in memory of its own.
type lane struct {
	k     kernels.Backend
	mem   *tensor.Arena
	load  expertLoad
	agree agreement
}

func (l *lane) ctx() *ops.Ctx { return ops.NewCtx(l.k, l.mem, dtype.F32) }

// lanes are the ways to compute a batch: one micro-batch at a time on the whole backend, or several, each on its share. What is
// in flight together stays under the budget of tokens. The results are the same bits: a row depends on nothing beside it, and gradients and
// loss are added in the order of the micro-batches.
type lanes struct {
	whole []*lane // of one
	split []*lane // of one when the backend can't be split
}

func newLanes(k kernels.Backend, m model.Model) lanes {
	var ls lanes
	var load expertLoad
	if r, ok := m.(router); ok {
		load.experts = r.Experts()
	}
	for _, part := range k.Split(runtime.GOMAXPROCS(0)) {
		ls.split = append(ls.split, &lane{k: part, mem: &tensor.Arena{}, load: load})
	}
	ls.whole = []*lane{{k: k, mem: ls.split[0].mem, load: load}}
	return ls
}

// all returns the lanes of both ways.
func (ls *lanes) all() []*lane { return append(slices.Clone(ls.whole), ls.split...) }

// bytes returns the memory that all lanes hold.
func (ls *lanes) bytes() (n int) {
	for _, l := range ls.split {
		n += l.mem.Bytes()
	}
	return n
}

// reset forgets the load of experts, and what choices had in common.
func (ls *lanes) reset() {
	for _, l := range ls.all() {
		l.load.reset()
		l.agree.reset()
	}
}

// load returns the load of experts in all lanes since it was reset.
func (ls *lanes) load() (sum expertLoad) {
	for _, l := range ls.all() {
		sum.add(l.load)
	}
	return sum
}

// cacheTokens is the largest micro-batch of a lane: the activations of one layer for more tokens leave the core's caches, and lanes wait less
// for each other's gradients when there are several micro-batches each. A tenth faster than 1,024 in bench's tiny model.
const cacheTokens = 512

// share cuts samples into micro-batches, and chooses lanes for them: as many as can all be busy, or one.
func (ls *lanes) share(samples []*rl.Sample, budget int) ([]pass, []*lane) {
	n := len(ls.split)
	if ps := passes(samples, max(1, min(cacheTokens, budget/n))); len(ps) >= n {
		return ps, ls.split
	}
	return passes(samples, budget), ls.whole
}

// agreement returns what choices had in common in all lanes since it was reset.
func (ls *lanes) agreement() *agreement {
	sum := &agreement{}
	for _, l := range ls.all() {
		sum.add(&l.agree)
	}
	return sum
}

// A refusal is a panic that says what is wrong with a sample, not with the mathematics.
type refusal struct{ error }

// work is what a lane does with a micro-batch.
type work func(l *lane, turn *ops.Turn, p pass)

// run does f with every micro-batch: lane number i with i, i+lanes, and so on. After an error no more are begun; of several errors the one of the
// first micro-batch is returned.
func (ls *lanes) run(ctx context.Context, what string, samples []*rl.Sample, budget int, f work) error {
	ps, on := ls.share(samples, budget)
	turns, errs := ops.NewTurns(), make([]error, len(ps))
	var failed atomic.Bool
	var all sync.WaitGroup
	end := split.NewFinish(len(on))
	for n, l := range on {
		all.Go(func() {
			defer end.Wait(l.k)
			for i := n; i < len(ps) && !failed.Load(); i += len(on) {
				if errs[i] = l.guard(ctx, f, turns.Of(i, l.k), ps[i]); errs[i] != nil {
					failed.Store(true)
					turns.Stop()
				}
			}
		})
	}
	all.Wait()
	return first(what, errs)
}

// first returns the first error that is one of its own, not the consequence of another's.
func first(what string, errs []error) error {
	for i, err := range errs {
		if err != nil && !errors.Is(err, ops.ErrStopped) {
			return fmt.Errorf("train: %s: micro-batch %d: %w", what, i, err)
		}
	}
	return nil
}

// guard does f, turns a panic of the mathematics into an error, and frees the micro-batch's memory.
func (l *lane) guard(ctx context.Context, f work, turn *ops.Turn, p pass) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	defer func() {
		l.mem.Reset()
		err = ended(recover())
	}()
	f(l, turn, p)
	return nil
}

// ended returns the error that a pass ends with, by what it panicked with: nil for nothing.
func ended(panicked any) error {
	switch r := panicked.(type) {
	case nil:
		return nil
	case refusal:
		return r.error
	case error:
		if errors.Is(r, ops.ErrStopped) {
			return ops.ErrStopped
		}
	}
	return fmt.Errorf("%v\n%s", panicked, debug.Stack())
}
