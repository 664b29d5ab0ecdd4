package reward

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"furlong/rl"
)

// fixed is a judge outside that gives one reward, or fails.
type fixed float64

func (f fixed) Reward(_ context.Context, s *rl.Sample) error {
	if f < 0 {
		return errors.New("away")
	}
	s.Reward, s.Verdict, s.Why = float64(f), rl.Wrong, "fixed"
	if f >= 1 {
		s.Verdict = rl.Right
	}
	return nil
}

// mixed makes the rewarder of c and judges one response of so many tokens.
func mixed(t *testing.T, c Config, text string, tokens int) *rl.Sample {
	t.Helper()
	r, err := NewWith(c, map[string]rl.Rewarder{"remote_rm": fixed(0.5), "command": fixed(-1)})
	if err != nil {
		t.Fatal(err)
	}
	s := &rl.Sample{Prompt: &rl.Prompt{ID: "p", Label: "34"}, Text: text, Stop: rl.StopToken, Response: make([]int32, tokens), Sampling: rl.Sampling{MaxTokens: 100}}
	_ = NewPool(r, c).Reward(t.Context(), s)
	return s
}

func TestWeights(t *testing.T) {
	right := `\boxed{34}`
	for _, tt := range []struct {
		types, text string
		reward      float64
		want        rl.Verdict
	}{
		{"furlong", right, 1, rl.Right},
		{"furlong:2", right, 2, rl.Right},
		{"furlong:0.8,remote_rm:0.2", right, 0.9, rl.Right},
		{"furlong:0.8,remote_rm:0.2", "x", 0.1, rl.Wrong},
		{"remote_rm,furlong", right, 1.5, rl.Wrong}, // the first one's verdict
		{" furlong , exact:-1 ", right, 1, rl.Right},
		{"furlong,command", right, 0, rl.Invalid},
		{"command,furlong", right, 0, rl.Invalid},
	} {
		c := Default()
		c.Type = tt.types
		if s := mixed(t, c, tt.text, 1); s.Verdict != tt.want || math.Abs(s.Reward-tt.reward) > 1e-12 {
			t.Errorf("%s: %v, %v, want %v, %v: %s", tt.types, s.Verdict, s.Reward, tt.want, tt.reward, s.Why)
		}
	}
}

func TestShaping(t *testing.T) {
	for _, tt := range []struct {
		scale  string
		buffer int
		factor float64
		text   string
		tokens int
		reward float64
	}{
		{"01", 0, 1, `\boxed{34}`, 100, 1},
		{"01", 40, 1, `\boxed{34}`, 60, 1},
		{"01", 40, 1, `\boxed{34}`, 70, 0.75},
		{"01", 40, 2, `\boxed{34}`, 70, 0.5},
		{"01", 40, 1, "x", 100, -1},
		{"pm1", 0, 1, `\boxed{34}`, 100, 1},
		{"pm1", 0, 1, "x", 100, -1},
		{"pm1", 40, 1, "x", 80, -1.5},
	} {
		c := Default()
		c.Type, c.Scale, c.Buffer, c.Factor = "furlong", tt.scale, tt.buffer, tt.factor
		s := mixed(t, c, tt.text, tt.tokens)
		if s.Reward != tt.reward || (s.Verdict == rl.Right) != (tt.text != "x") {
			t.Errorf("%+v: %v, %v: %s", tt, s.Reward, s.Verdict, s.Why)
		}
	}
	c := Default()
	c.Type, c.Scale, c.Buffer = "command", "pm1", 40
	if s := mixed(t, c, "x", 100); s.Verdict != rl.Invalid || s.Reward != 0 {
		t.Errorf("an invalid sample has reward %v", s.Reward)
	}
}

func TestConfigIsChecked(t *testing.T) {
	for _, tt := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Type = "furlong:x" }, `--rm-type: weight of furlong is "x", want a number`},
		{func(c *Config) { c.Type = "furlong,,math" }, "want names apart by commas"},
		{func(c *Config) { c.Type = "furlong,maths" }, `grader is "maths"`},
		{func(c *Config) { c.Type = "remote_rm" }, "without --rm-url"},
		{func(c *Config) { c.Type = "exact,command" }, "without --custom-rm-command"},
		{func(c *Config) { c.KeyFile = "k" }, "--rm-api-key-file is given without --rm-url"},
		{func(c *Config) { c.Buffer = -1 }, "--overlong-buffer-len is -1"},
		{func(c *Config) { c.Factor = math.NaN() }, "--overlong-penalty-factor is NaN"},
	} {
		c := Default()
		tt.change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("complaint is %v, want %s", err, tt.want)
		}
	}
}
