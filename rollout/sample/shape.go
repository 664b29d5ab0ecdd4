package sample

import (
	"fmt"
	"math"

	"furlong/rl"
)

// A Shaper changes the logits of one response before temperature, as its settings say: it forbids what a constraint forbids and stop ids
// of a response that is too short, and moves logits by penalties and bias. Logits of forbidden tokens are -Inf.
type Shaper struct {
	s      rl.Sampling
	only   rl.Constraint // nil for none
	seen   map[int32]bool
	counts map[int32]int // of the tokens of the response
}

// What the settings of a request can do to logits that were as they should be.
var (
	errNothing = fmt.Errorf("%w: constraint, min_new_tokens and bias forbid all", rl.ErrNoToken)
	errTooFar  = fmt.Errorf("%w: penalties and bias move logits past all numbers", rl.ErrNoToken)
)

// NewShaper returns nil where nothing is to be changed.
func NewShaper(s rl.Sampling, only rl.Constraint, prompt []int32) *Shaper {
	if only == nil && !repeats(s) && !counts(s) && len(s.Bias) == 0 && s.MinTokens == 0 {
		return nil
	}
	h := &Shaper{s: s, only: only}
	if repeats(s) {
		h.seen = make(map[int32]bool, len(prompt))
		for _, t := range prompt {
			h.seen[t] = true
		}
	}
	if counts(s) {
		h.counts = map[int32]int{}
	}
	return h
}

func repeats(s rl.Sampling) bool { return s.RepetitionPenalty != 0 && s.RepetitionPenalty != 1 }

func counts(s rl.Sampling) bool { return s.FrequencyPenalty != 0 || s.PresencePenalty != 0 }

// Took tells h the token that was drawn. The constraint is told by whoever owns it.
func (h *Shaper) Took(token int32) {
	if h.seen != nil {
		h.seen[token] = true
	}
	if h.counts != nil {
		h.counts[token]++
	}
}

// Shape changes the logits of token i of the response. Logits that are broken already, or that nothing is left of, are an error.
func (d *Drawer) Shape(h *Shaper, logits []float32, i int) error {
	if _, err := Likeliest(logits); err != nil {
		return err
	}
	d.mask(h, logits, i)
	h.penalise(logits)
	for _, b := range h.s.Bias {
		logits[b.Token] += b.Add
	}
	return left(logits)
}

// mask forbids tokens.
func (d *Drawer) mask(h *Shaper, logits []float32, i int) {
	never := float32(math.Inf(-1))
	if h.only != nil {
		for len(d.allowed) < len(logits) {
			d.allowed = append(d.allowed, false)
		}
		allowed := d.allowed[:len(logits)]
		clear(allowed) // a constraint may know fewer tokens than the model has
		h.only.Allow(allowed)
		for t, ok := range allowed {
			if !ok {
				logits[t] = never
			}
		}
	}
	if i < h.s.MinTokens {
		for _, t := range h.s.StopIDs {
			if t >= 0 && int(t) < len(logits) {
				logits[t] = never
			}
		}
	}
}

// penalise moves the logits of tokens that were there. Each is moved by itself, so the order does not matter.
func (h *Shaper) penalise(logits []float32) {
	by := float32(h.s.RepetitionPenalty)
	for t := range h.seen {
		if l := logits[t]; l > 0 {
			logits[t] = l / by
		} else {
			logits[t] = l * by
		}
	}
	each, once := float32(h.s.FrequencyPenalty), float32(h.s.PresencePenalty)
	for t, n := range h.counts {
		logits[t] -= float32(each * float32(n))
		logits[t] -= once
	}
}

// left returns an error unless a token can be drawn from logits that were finite, or -Inf, before they were moved.
func left(logits []float32) error {
	top := float32(math.Inf(-1))
	for _, l := range logits {
		top = max(top, l)
	}
	switch {
	case top-top == 0:
		return nil
	case math.IsInf(float64(top), -1):
		return errNothing
	}
	return errTooFar
}
