package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"furlong/kernels"
	"furlong/model/dsv4"
)

// Options are the surroundings of a run.
type Options struct {
	Backend  kernels.Backend
	Threads  int // that the backend uses, and copies do
	Build    Build
	Progress func(done int, what string) // called after each of Measurements; may be nil
}

// Run measures what cfg asks for.
func Run(ctx context.Context, cfg Config, o Options) (*Report, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	shape, err := readModel(cfg.Model)
	if err != nil {
		return nil, err
	}
	return newBencher(cfg, shape, o).run(ctx)
}

func (b *bencher) run(ctx context.Context) (*Report, error) {
	for _, w := range b.works() {
		if err := w.run(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", w.name, err)
		}
	}
	b.meter.look()
	b.conclude()
	return b.rep, nil
}

// Measurements returns how often Run calls Progress.
func Measurements(cfg Config) (n int) {
	b := bencher{cfg: cfg}
	for _, w := range b.works() {
		n += w.measures
	}
	return n
}

// A bencher carries out a run.
type bencher struct {
	cfg   Config
	o     Options
	shape dsv4.Config
	cost  Cost
	meter meter
	rand  *rand.Rand
	rep   *Report
	done  int // measurements
}

func newBencher(cfg Config, shape dsv4.Config, o Options) *bencher {
	b := &bencher{
		cfg: cfg, o: o, shape: shape, meter: newMeter(o.Backend, o.Threads),
		rand: rand.New(rand.NewPCG(cfg.Seed, 1)),
	}
	b.cost = CostOf(shape, dsv4.New(shape, formatOf(cfg.Format)).Params())
	b.rep = &Report{
		Date: time.Now().UTC().Truncate(time.Second), Build: o.Build, Machine: thisMachine(o.Backend, o.Threads), Runs: cfg.Runs,
		Model: ModelInfo{cfg.Model, cfg.Format, b.cost.Parameters, b.cost.Active, b.cost.Bytes},
	}
	return b
}

// A work is one thing to measure.
type work struct {
	name     string
	measures int // calls of tick
	run      func(context.Context) error
}

// works lists what the configuration asks for, in a fixed order.
func (b *bencher) works() (out []work) {
	c, runs := b.cfg, b.cfg.Runs+1
	add := func(of string, measures int, run func(context.Context) error, shape any) {
		if c.has(of) {
			out = append(out, work{fmt.Sprint(of, " ", shape), measures, run})
		}
	}
	for _, n := range c.Batches {
		add(Generate, runs, func(ctx context.Context) error { return b.generate(ctx, n) }, n)
	}
	for _, s := range c.Score {
		add(Score, runs, func(ctx context.Context) error { return b.score(ctx, s) }, s)
	}
	for _, s := range c.Train {
		add(Train, runs, func(ctx context.Context) error { return b.train(ctx, s) }, s)
	}
	add(Growth, 2*runs*len(c.Contexts), b.growth, c.Contexts)
	add(Memory, c.Cycles, b.memory, fmt.Sprint(c.Cycles, " cycles"))
	return out
}

// model returns a new model with the run's weights.
func (b *bencher) model() *dsv4.Model {
	m := dsv4.New(b.shape, formatOf(b.cfg.Format))
	m.Init(b.cfg.Seed)
	return m
}

// begin measures the machine and lets peak memory start anew.
func (b *bencher) begin() {
	b.meter.look()
	clearPeak()
}

// repeat calls f once to warm up and then for each run, and returns the seconds that f returned.
func (b *bencher) repeat(ctx context.Context, what string, f func() (time.Duration, error)) ([]float64, error) {
	var seconds []float64
	for i := range b.cfg.Runs + 1 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		took, err := f()
		if err != nil {
			return nil, err
		}
		if i > 0 {
			seconds = append(seconds, took.Seconds())
		}
		b.tick(what)
	}
	return seconds, nil
}

// runs are the measurements of a work.
type runs struct {
	seconds []float64
	matrix  []float64 // the better of the machine's matrix rates right before and right after each run; none if nobody looked
}

// against is repeat with a look at the machine, whose meter is open, between the runs: who else uses it comes and goes within a second.
func (b *bencher) against(ctx context.Context, what string, f func() (time.Duration, error)) (r runs, err error) {
	last := b.meter.now()
	r.seconds, err = b.repeat(ctx, what, func() (time.Duration, error) {
		took, err := f()
		before := last
		last = b.meter.now()
		r.matrix = append(r.matrix, max(before, last))
		return took, err
	})
	if err == nil {
		r.matrix = r.matrix[1:] // the first was to warm up
	}
	return r, err
}

func (b *bencher) tick(what string) {
	b.done++
	if b.o.Progress != nil {
		b.o.Progress(b.done, what)
	}
}

// ids returns n random tokens.
func (b *bencher) ids(n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = b.rand.Int32N(int32(b.shape.Vocab))
	}
	return out
}

// add keeps results of the work at hand.
func (b *bencher) add(results ...Result) {
	for _, r := range results {
		r.look = len(b.meter.matrix) / looks
		r.Peak -= b.meter.held
		b.rep.Results = append(b.rep.Results, r)
	}
}

// conclude holds every result against the best that the machine was seen to do around it: who shares it makes it another machine within minutes.
func (b *bencher) conclude() {
	b.rep.Rates = b.meter.rates()
	for i := range b.rep.Results {
		r := &b.rep.Results[i]
		r.hold(b.meter.around(r.look-1, r.look+1))
		b.compare(r)
	}
}
