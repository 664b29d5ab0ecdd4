package sample

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"furlong/rl"
)

// A fence allows some tokens.
type fence []int32

func (f fence) Allow(allowed []bool) {
	for _, t := range f {
		allowed[t] = true
	}
}
func (fence) Accept(int32) {}
func (fence) Done() bool   { return false }

func TestShape(t *testing.T) {
	never := float32(math.Inf(-1))
	for _, tt := range []struct {
		name   string
		change func(*rl.Sampling)
		only   rl.Constraint
		said   []int32 // after the prompt 0 1 1
		want   []float32
	}{
		{"repetition", func(s *rl.Sampling) { s.RepetitionPenalty = 2 }, nil, []int32{3}, []float32{2, -4, 3, -8, 0.5}},
		{"repetition below 1", func(s *rl.Sampling) { s.RepetitionPenalty = 0.5 }, nil, nil, []float32{8, -1, 3, -4, 0.5}},
		{"frequency", func(s *rl.Sampling) { s.FrequencyPenalty = 0.5 }, nil, []int32{2, 4, 2, 2}, []float32{4, -2, 1.5, -4, 0}},
		{"presence", func(s *rl.Sampling) { s.PresencePenalty = 0.5 }, nil, []int32{2, 4, 2, 2}, []float32{4, -2, 2.5, -4, 0}},
		{"bias", func(s *rl.Sampling) { s.Bias = []rl.Bias{{Token: 0, Add: -3}, {Token: 4, Add: never}} }, nil, nil, []float32{1, -2, 3, -4, never}},
		{"too short", func(s *rl.Sampling) { s.MinTokens, s.StopIDs = 2, []int32{-7, 2, 99} }, nil, []int32{1}, []float32{4, -2, never, -4, 0.5}},
		{"long enough", func(s *rl.Sampling) { s.MinTokens, s.StopIDs = 2, []int32{2} }, nil, []int32{1, 1}, []float32{4, -2, 3, -4, 0.5}},
		{"a constraint", nil, fence{1, 4}, nil, []float32{never, -2, never, never, 0.5}},
		{"all", func(s *rl.Sampling) {
			s.RepetitionPenalty, s.FrequencyPenalty, s.PresencePenalty, s.MinTokens = 2, 0.25, 1, 9
			s.Bias, s.StopIDs = []rl.Bias{{Token: 1, Add: 10}, {Token: 2, Add: 100}}, []int32{4}
		}, fence{0, 1, 4}, []int32{0, 0}, []float32{0.5, 6, never, never, never}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := rl.DefaultSampling()
			if tt.change != nil {
				tt.change(&s)
			}
			h := NewShaper(s, tt.only, []int32{0, 1, 1})
			for _, token := range tt.said {
				h.Took(token)
			}
			logits := []float32{4, -2, 3, -4, 0.5}
			if err := new(Drawer).Shape(h, logits, len(tt.said)); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(logits, tt.want) {
				t.Errorf("logits are %v, want %v", logits, tt.want)
			}
		})
	}
}

func TestPlainSamplingHasNoShaper(t *testing.T) {
	s := rl.DefaultSampling()
	s.StopIDs, s.TopK, s.RepetitionPenalty = []int32{1}, 3, 1
	if h := NewShaper(s, nil, []int32{1, 2}); h != nil {
		t.Errorf("NewShaper is %+v, want nil", h)
	}
}

// A mask leaves no trace in the next row, and forbids what the constraint has never heard of.
func TestMaskIsOfItsRow(t *testing.T) {
	var d Drawer
	first := NewShaper(rl.DefaultSampling(), fence{0, 1, 2}, nil)
	second := NewShaper(rl.DefaultSampling(), fence{1}, nil)
	if err := d.Shape(first, make([]float32, 5), 0); err != nil {
		t.Fatal(err)
	}
	logits := make([]float32, 3)
	if err := d.Shape(second, logits, 0); err != nil || logits[1] != 0 || !math.IsInf(float64(logits[0]), -1) || !math.IsInf(float64(logits[2]), -1) {
		t.Errorf("logits are %v (%v), want token 1 alone", logits, err)
	}
}

func TestShapeRefuses(t *testing.T) {
	bias := rl.DefaultSampling()
	bias.Bias = []rl.Bias{{Token: 0, Add: math.MaxFloat32}}
	for _, tt := range []struct {
		name   string
		s      rl.Sampling
		only   rl.Constraint
		logits []float32
		want   string
		broken bool
	}{
		{"NaN where the constraint looks away", rl.DefaultSampling(), fence{0}, []float32{0, float32(math.NaN())}, "logit of token 1 is NaN", true},
		{"nothing allowed", rl.DefaultSampling(), fence{}, []float32{0, 0}, "no token may follow", false},
		{"only what is impossible", rl.DefaultSampling(), fence{1}, []float32{0, float32(math.Inf(-1))}, "no token may follow", false},
		{"past all numbers", bias, nil, []float32{math.MaxFloat32, 0}, "past all numbers", false},
	} {
		err := new(Drawer).Shape(NewShaper(tt.s, tt.only, nil), tt.logits, 0)
		if err == nil || !strings.Contains(err.Error(), tt.want) || errors.Is(err, rl.ErrBroken) != tt.broken {
			t.Errorf("%s: error is %v, want one with %q (of broken weights: %v)", tt.name, err, tt.want, tt.broken)
		}
	}
}
