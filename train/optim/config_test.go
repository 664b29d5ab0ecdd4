package optim

import (
	"math"
	"strings"
	"testing"
)

func TestRate(t *testing.T) {
	for _, tt := range []struct {
		decay string
		rates map[int]float64 // by step, of a peak of 1 and an end of 0.1: 4 steps of warm-up, end at step 12
	}{
		{"constant", map[int]float64{4: 1, 11: 1, 12: 1, 1000: 1}},
		{"linear", map[int]float64{4: 1, 5: .8875, 8: .55, 11: .2125, 12: .1, 1000: .1}},
		{"cosine", map[int]float64{4: 1, 6: .1 + .9*(1+math.Sqrt(.5))/2, 8: .55, 12: .1, 1000: .1}},
		{"inverse-square-root", map[int]float64{4: .1 + .9*math.Sqrt(.8), 15: .55, 399: .19}},
		{"WSD", map[int]float64{4: 1, 8: 1, 9: .775, 10: .55, 11: .325, 12: .1, 1000: .1}},
	} {
		c := Default()
		c.LR, c.MinLR, c.Decay, c.Warmup, c.Steps, c.WSDSteps = 1, .1, tt.decay, 4, 12, 4
		for i, want := range []float64{.25, .5, .75, 1} {
			tt.rates[i] = want
		}
		for n, want := range tt.rates {
			if got := c.Rate(n, 7); math.Abs(got-want) > 1e-12 {
				t.Errorf("%s: rate of step %d is %v, want %v", tt.decay, n, got, want)
			}
		}
		c.Steps = 0
		for n, want := range tt.rates {
			if got := c.Rate(n, 12); math.Abs(got-want) > 1e-12 {
				t.Errorf("%s without an end of its own, of 12 steps: rate of step %d is %v, want %v", tt.decay, n, got, want)
			}
		}
	}
}

func TestRateWithoutWarmup(t *testing.T) {
	for decay, want := range map[string][4]float64{
		"constant": {2, 2, 2, 2}, "linear": {2, 1.5, 1, .5}, "inverse-square-root": {2, 2 * math.Sqrt(.5), 2 * math.Sqrt(1./3), 1},
	} {
		c := Default()
		c.LR, c.Decay = 2, decay
		for n, w := range want {
			if got := c.Rate(n, 4); math.Abs(got-w) > 1e-12 {
				t.Errorf("%s: rate of step %d is %v, want %v", decay, n, got, w)
			}
		}
	}
}

func TestRatesNeverLeaveTheirBounds(t *testing.T) {
	for _, decay := range []string{"constant", "linear", "cosine", "inverse-square-root", "WSD"} {
		for _, warmup := range []int{0, 1, 5, 50} {
			c := Default()
			c.LR, c.MinLR, c.Decay, c.Warmup, c.WSDSteps = 3, 1, decay, warmup, 7
			last := math.Inf(1)
			for n := warmup; n < 60; n++ {
				got := c.Rate(n, 30)
				if !(got >= 1 && got <= 3 && got <= last) {
					t.Fatalf("%s, %d steps of warm-up: rate of step %d is %v after %v, want it to fall from 3 to 1", decay, warmup, n, got, last)
				}
				last = got
			}
		}
	}
}

func TestNeedsEnd(t *testing.T) {
	for decay, want := range map[string]bool{"constant": false, "inverse-square-root": false, "linear": true, "cosine": true, "WSD": true} {
		c := Default()
		c.Decay = decay
		if got := c.NeedsEnd(); got != want {
			t.Errorf("%s needs an end: %v, want %v", decay, got, want)
		}
		if c.Steps = 9; c.NeedsEnd() {
			t.Errorf("%s with --lr-decay-iters 9 needs an end", decay)
		}
	}
}

func TestDefaultIsValid(t *testing.T) {
	if err := Default().Validate(); err != nil {
		t.Error(err)
	}
}

func TestValidate(t *testing.T) {
	nan := math.NaN()
	for _, tt := range []struct {
		spoil func(c *Config)
		want  string
	}{
		{func(c *Config) { c.Decay = "exponential" }, `--lr-decay-style is "exponential", want one of: constant linear cosine inverse-square-root WSD`},
		{func(c *Config) { c.LR, c.MinLR = -1, -2 }, "--lr is -1, want 0 or more"},
		{func(c *Config) { c.LR = math.Inf(1) }, "--lr is +Inf, want 0 or more"},
		{func(c *Config) { c.MinLR = 1 }, "--min-lr is 1, want between 0 and --lr (1e-06)"},
		{func(c *Config) { c.MinLR = nan }, "--min-lr is NaN"},
		{func(c *Config) { c.Warmup = -1 }, "--lr-warmup-iters is -1"},
		{func(c *Config) { c.Decay = "WSD" }, "--lr-wsd-decay-iters is 0, want at least 1"},
		{func(c *Config) { c.Beta1 = 1 }, "--adam-beta1 is 1, want from 0 up to, not including, 1"},
		{func(c *Config) { c.Beta2 = nan }, "--adam-beta2 is NaN"},
		{func(c *Config) { c.Eps = 0 }, "--adam-eps is 0, want more than 0"},
		{func(c *Config) { c.Eps = nan }, "--adam-eps is NaN"},
		{func(c *Config) { c.WeightDecay = -.1 }, "--weight-decay is -0.1, want 0 or more"},
		{func(c *Config) { c.WeightDecay = nan }, "--weight-decay is NaN"},
		{func(c *Config) { c.Clip = nan }, "--clip-grad is NaN, want 0 (off) or more"},
	} {
		c := Default()
		tt.spoil(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want an error with %q", err, tt.want)
		}
	}
	if err := (Config{LR: nan, Warmup: -1, Beta1: 2, Clip: -1, WeightDecay: -1}).Validate(); err == nil || strings.Count(err.Error(), "\n") != 7 {
		t.Errorf("got %v, want 8 complaints, one a line", err)
	}
}
