package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// growth measures one sequence of each length: its prompt, decoding at its end, and a step of training on it.
func (b *bencher) growth(ctx context.Context) error {
	b.rep.Growth = &GrowthReport{}
	for _, n := range b.cfg.Contexts {
		p, err := b.growthPoint(ctx, n)
		if err != nil {
			return fmt.Errorf("context %d: %w", n, err)
		}
		b.rep.Growth.Points = append(b.rep.Growth.Points, p)
	}
	b.rep.Growth.fit()
	return nil
}

func (b *bencher) growthPoint(ctx context.Context, n int) (GrowthPoint, error) {
	b.begin()
	p := GrowthPoint{Context: n}
	if err := b.growSampling(ctx, &p); err != nil {
		return p, err
	}
	err := b.growTraining(ctx, &p)
	p.Peak = memory().peak
	return p, err
}

// growSampling measures a prompt answered with one token, and the same prompt again, from the prefix cache, with all.
func (b *bencher) growSampling(ctx context.Context, p *GrowthPoint) error {
	s, err := b.sampler(ctx, 1, p.Context)
	if err != nil {
		return err
	}
	prompt := p.Context - b.cfg.New
	var decode []float64
	first, err := b.repeat(ctx, fmt.Sprint("generate at ", p.Context), func() (time.Duration, error) {
		prompts := s.prompts(1, prompt)
		one, _, err := s.answer(ctx, prompts, 1, false)
		if err != nil {
			return 0, err
		}
		all, _, err := s.answer(ctx, prompts, b.cfg.New, true)
		decode = append(decode, all.Seconds())
		return one, err
	})
	if err := errors.Join(err, s.stop()); err != nil {
		return err
	}
	p.PromptUS = 1e6 * spreadOf(first).Median / float64(prompt)
	p.DecodeUS = 1e6 * spreadOf(decode[1:]).Median / float64(b.cfg.New)
	return nil
}

func (b *bencher) growTraining(ctx context.Context, p *GrowthPoint) error {
	e, err := b.engine()
	if err != nil {
		return err
	}
	s := Shape{1, p.Context}
	seconds, err := b.repeat(ctx, fmt.Sprint("train at ", p.Context), func() (time.Duration, error) {
		batch := b.samples(s)
		start := time.Now()
		err := step(ctx, e, batch)
		return time.Since(start), err
	})
	if err != nil {
		return err
	}
	p.TrainUS = 1e6 * spreadOf(seconds).Median / float64(p.Context)
	return nil
}

// fit sets the powers. Points give the time of a token; the whole time is that times the length, which adds 1.
func (g *GrowthReport) fit() {
	power := func(us func(GrowthPoint) float64) float64 {
		var x, y []float64
		for _, p := range g.Points {
			x, y = append(x, math.Log(float64(p.Context))), append(y, math.Log(us(p)))
		}
		return 1 + slope(x, y)
	}
	g.PromptPower = power(func(p GrowthPoint) float64 { return p.PromptUS })
	g.DecodePower = power(func(p GrowthPoint) float64 { return p.DecodeUS })
	g.TrainPower = power(func(p GrowthPoint) float64 { return p.TrainUS })
}

// slope is that of the line of least squares.
func slope(x, y []float64) float64 {
	mx, my := mean(x), mean(y)
	var num, den float64
	for i := range x {
		num += (x[i] - mx) * (y[i] - my)
		den += (x[i] - mx) * (x[i] - mx)
	}
	return num / den
}

func mean(x []float64) float64 {
	sum := 0.0
	for v := range slices.Values(x) {
		sum += v
	}
	return sum / float64(len(x))
}
