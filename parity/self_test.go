package parity

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"furlong/tokenizer"
)

// selfOf holds a side against itself.
func selfOf(t *testing.T, f Side, o SelfOptions) *SelfReport {
	t.Helper()
	o.Sequences, o.Tokenizer = texts(6, 9, 4, 7, 5), tokenizer.Bytes{}
	rep, err := Self(t.Context(), f, o)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// A side whose logprobs depend on nothing but their tokens is the same to the bit.
func TestSelfOfASteadySide(t *testing.T) {
	rep := selfOf(t, &fake{about: bytesAbout("steady"), lp: plainRule}, SelfOptions{Exact: true})
	if v := rep.Verdict; !v.OK || v.Kind != SameBits || v.Says != "the same bits under all 4 conditions" {
		t.Errorf("verdict is %+v", v)
	}
	for _, c := range rep.Conditions {
		if c.Gap.Tokens != 31 || c.Gap.Exact != 1 || c.First != nil {
			t.Errorf("condition %s is %+v", c.Name, c)
		}
	}
}

// A logprob that depends on the batch is found: under which condition, and at which token first.
func TestSelfFindsBatchVariance(t *testing.T) {
	f := &fake{about: bytesAbout("varying"), lp: func(s Sequence, t, batch int) float32 {
		lp := plainRule(s, t, batch)
		if batch == 1 && s.ID >= "t1" && t >= 4 {
			lp -= 1e-6
		}
		return lp
	}}
	rep := selfOf(t, f, SelfOptions{Exact: true})
	v := rep.Verdict
	if v.OK || v.Says != `a condition that must not matter does: "one at a time" changes logprobs, first at position 4 of sequence 1` {
		t.Errorf("verdict is %+v", v)
	}
	for _, c := range rep.Conditions {
		if broke := c.First != nil; broke != (c.Name == "one at a time") {
			t.Errorf("condition %s has a difference: %v", c.Name, broke)
		}
	}
	var w strings.Builder
	if err := rep.Text(&w); err != nil || !strings.Contains(w.String(), "sequence 1, position 4:") || !strings.Contains(w.String(), "A condition that must not matter does") {
		t.Errorf("text is %v:\n%s", err, w.String())
	}
	// A side that promises no bits is measured: this much is rounding, and more is not.
	if v := selfOf(t, f, SelfOptions{}).Verdict; !v.OK || v.Kind != Rounding || !strings.Contains(v.Says, "not the same bits under 1 of them") {
		t.Errorf("verdict is %+v, want rounding", v)
	}
	if v := selfOf(t, f, SelfOptions{Settings: Settings{Tolerance: 1e-8}}).Verdict; v.OK {
		t.Errorf("verdict is %+v, want a failure: the tolerance is less", v)
	}
}

// The order of sequences, and doing the same again, are conditions too.
func TestSelfFindsStateAndOrder(t *testing.T) {
	calls := 0
	drifting := &fake{about: bytesAbout("drifting"), lp: func(s Sequence, t, n int) float32 {
		if s.ID == "t0" && t == 0 {
			calls++
		}
		return plainRule(s, t, n) - float32(min(calls, 2))/8
	}}
	if v := selfOf(t, drifting, SelfOptions{Exact: true}).Verdict; v.OK || !strings.Contains(v.Says, `"again" changes logprobs, first at position 0 of sequence 0`) {
		t.Errorf("verdict is %+v, want the first repetition", v)
	}
	last := ""
	ordered := &fake{about: bytesAbout("ordered"), lp: func(s Sequence, t, n int) float32 {
		if t == 0 {
			defer func() { last = s.ID }()
			if last > s.ID && n > 3 && s.ID != "t0" {
				return -9
			}
		}
		return plainRule(s, t, n)
	}}
	if v := selfOf(t, ordered, SelfOptions{Exact: true}).Verdict; v.OK || !strings.Contains(v.Says, `"backwards"`) {
		t.Errorf("verdict is %+v, want the order", v)
	}
}

// A condition that cannot be tried is told, and is no success of a side that promises the same bits.
func TestSelfOfATrialThatFails(t *testing.T) {
	o := SelfOptions{Exact: true, Trials: []Trial{{Name: "cold", Says: "x", Score: func(context.Context, []Sequence, func(int)) ([]Scores, error) {
		return nil, fmt.Errorf("the cache: %w", errBusy)
	}}}}
	rep := selfOf(t, &fake{about: bytesAbout("steady"), lp: plainRule}, o)
	if v := rep.Verdict; v.OK || !strings.Contains(v.Says, "1 could not be tried") || !strings.Contains(strings.Join(v.More, " "), "the cache: it is busy") {
		t.Errorf("verdict is %+v", v)
	}
	o.Exact = false
	if v := selfOf(t, &fake{about: bytesAbout("steady"), lp: plainRule}, o).Verdict; !v.OK {
		t.Errorf("verdict is %+v, want that the others hold", v)
	}
}
