package samples

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"furlong/rl"
)

// KeepExperts says of which tokens a body keeps the experts, where samples tell them: of all; of the N tokens of a cycle with the largest gap; of
// none. The zero value keeps all where a token's are few bytes, and else those of the worst.
type KeepExperts struct {
	rule string // "" auto, all, worst, none
	n    int
}

// The rule auto keeps the experts of all tokens where one's take at most fewBytes under one engine, about what else a body has of a token;
// else those of the worstTokens.
const (
	fewBytes    = 32
	worstTokens = 100
)

// ParseKeepExperts reads auto, all, worst:N or none.
func ParseKeepExperts(s string) (KeepExperts, error) {
	switch s {
	case "auto":
		return KeepExperts{}, nil
	case "all", "none":
		return KeepExperts{rule: s}, nil
	}
	rule, num, _ := strings.Cut(s, ":")
	if n, err := strconv.Atoi(num); rule == "worst" && err == nil && n >= 1 {
		return KeepExperts{rule, n}, nil
	}
	return KeepExperts{}, fmt.Errorf("--keep-experts is %q, want auto, all, none, or worst:N with N at least 1", s)
}

// String is the reverse of [ParseKeepExperts].
func (k KeepExperts) String() string {
	if k.rule == "worst" {
		return fmt.Sprint(k.rule, ":", k.n)
	}
	return cmp.Or(k.rule, "auto")
}

// None reports whether no experts are kept, so that samples need not tell them.
func (k KeepExperts) None() bool { return k.rule == "none" }

// of returns what k keeps of samples in a model: all, or the worst n.
func (k KeepExperts) of(m model) (all bool, n int) {
	switch k.rule {
	case "all":
		return true, 0
	case "worst":
		return false, k.n
	case "none":
		return false, 0
	}
	return m.rowBits() <= 8*fewBytes, worstTokens
}

// A model is what routes are of.
type model struct {
	Layers  int `json:"layers"`
	Choices int `json:"choices"` // experts of a token in each layer
	Experts int `json:"experts"` // of a layer
}

// idBits returns the bits of one expert's number.
func (m model) idBits() int { return max(1, bits.Len(uint(m.Experts-1))) }

// rowBits returns the bits of a token's experts under one engine.
func (m model) rowBits() int { return m.Layers * m.Choices * m.idBits() }

// check reports a model that a header could not mean.
func (m model) check() error {
	if min(m.Layers, m.Choices, m.Experts) < 1 || max(m.Layers, m.Choices) > math.MaxUint16 || m.Experts > math.MaxUint16+1 {
		return fmt.Errorf("%d of %d experts in %d layers, want 1 to %d choices and layers, and 1 to %d experts", m.Choices, m.Experts, m.Layers, math.MaxUint16, math.MaxUint16+1)
	}
	return nil
}

// A Side is an engine that chose experts.
type Side int

// The sides.
const (
	ByRollout Side = iota // when the token was drawn
	ByTrainer             // in the pass that gave the trainer's logprob
	numSides
)

// routesOf returns what s tells of each side, nil for nothing.
func (s *Sample) routesOf() [numSides]*rl.Routes {
	return [numSides]*rl.Routes{ByRollout: s.Experts, ByTrainer: s.TrainExperts}
}

// modelOf returns the model that samples tell the experts of, nil where none tells any. All must tell those of one.
func modelOf(all []Sample) (*model, error) {
	var m *model
	for i := range all {
		s := &all[i]
		for _, r := range s.routesOf() {
			if r.Len() == 0 {
				continue
			}
			if m == nil {
				m = &model{r.Layers, r.Choices, r.Experts}
			}
			err := r.Check(m.Layers, m.Choices, m.Experts)
			if most := len(s.Prompt.Tokens) + len(s.Response) - 1; err == nil && r.Len() > most {
				err = fmt.Errorf("experts of %d tokens, want at most %d: all but the last", r.Len(), most)
			}
			if err != nil {
				return nil, fmt.Errorf("group %d sample %d: %w", s.Prompt.Group, s.Index, err)
			}
		}
	}
	if m == nil {
		return nil, nil
	}
	return m, m.check()
}

// A keeping says whose experts of a batch are kept.
type keeping struct {
	model *model // nil: nobody's
	all   bool
	few   []map[int]bool // of each sample, the tokens
}

// newKeeping decides for a batch.
func (k KeepExperts) newKeeping(all []Sample) (keeping, error) {
	if k.None() {
		return keeping{}, nil
	}
	m, err := modelOf(all)
	if m == nil || err != nil {
		return keeping{}, err
	}
	out := keeping{model: m}
	var n int
	if out.all, n = k.of(*m); !out.all {
		out.few = widest(all, n)
	}
	return out, nil
}

// keeps reports whether the experts of a token of a sample are kept.
func (k keeping) keeps(sample, token int) bool { return k.all || k.few[sample][token] }

// widest returns, of each sample, the tokens before the n response tokens with the largest gaps of all samples: those tokens' logprobs came out of what the
// tokens before them chose.
func widest(all []Sample, n int) []map[int]bool {
	type place struct {
		sample, token int
		gap           float64
	}
	var top []place // largest first
	for i := range all {
		s, masked := &all[i], all[i].masked()
		for t := range s.TrainLogProbs {
			if !masked && s.Mask != nil && !s.Mask[t] {
				continue
			}
			p := place{i, len(s.Prompt.Tokens) + t - 1, s.gapAt(t)}
			at, _ := slices.BinarySearchFunc(top, p, func(a, b place) int { // behind its equals
				if a.gap >= b.gap {
					return -1
				}
				return 1
			})
			if at < n {
				top = slices.Insert(top[:min(len(top), n-1)], at, p)
			}
		}
	}
	out := make([]map[int]bool, len(all))
	for _, p := range top {
		if out[p.sample] == nil {
			out[p.sample] = map[int]bool{}
		}
		out[p.sample][p.token] = true
	}
	return out
}
