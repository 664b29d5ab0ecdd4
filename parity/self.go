package parity

import (
	"context"
	"fmt"

	"furlong/tokenizer"
)

// A Trial is a way to score the same tokens that must not change a bit.
type Trial struct {
	Name  string
	Says  string // what is done otherwise
	Score func(ctx context.Context, seqs []Sequence, done func(n int)) ([]Scores, error)
}

// SelfOptions say how a side is held against itself.
type SelfOptions struct {
	Settings  Settings
	Made      string
	Build     string
	Exact     bool // the side promises the same bits: anything else is a failure. Otherwise gaps are measured, and those above the limit are one
	Sequences []Sequence
	Trials    []Trial // beside those that every side can be put to
	Tokenizer tokenizer.Tokenizer
	Progress  func(stage string, done, total int)
}

// Self scores sequences as a side does, and then under one condition after the other that must not matter: in other batches and orders, and what its trials
// say. It reports which condition breaks, and at which token first.
func Self(ctx context.Context, side Side, o SelfOptions) (*SelfReport, error) {
	about, err := side.About(ctx)
	if err != nil {
		return nil, err
	}
	if o.Progress == nil {
		o.Progress = func(string, int, int) {}
	}
	rep := &SelfReport{Format: ReportFormat, Made: o.Made, Build: o.Build, Settings: o.Settings, Side: about}
	base, err := scored(ctx, about.Name, side, o.Sequences, func(n int) { o.Progress("at first", n, len(o.Sequences)) })
	if err != nil {
		return nil, err
	}
	for _, t := range append(generic(side), o.Trials...) {
		c := o.try(ctx, t, base)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		rep.Conditions = append(rep.Conditions, c)
	}
	rep.Verdict = o.verdict(rep.Conditions)
	return rep, nil
}

// generic are the conditions of every side.
func generic(side Side) []Trial {
	return []Trial{
		{"again", "the same call once more", side.Score},
		{"one at a time", "each sequence in a call of its own", func(ctx context.Context, seqs []Sequence, done func(int)) ([]Scores, error) {
			return inBatches(ctx, side, seqs, 1, done)
		}},
		{"three at a time", "calls of three sequences", func(ctx context.Context, seqs []Sequence, done func(int)) ([]Scores, error) {
			return inBatches(ctx, side, seqs, 3, done)
		}},
		{"backwards", "all sequences in the opposite order", func(ctx context.Context, seqs []Sequence, done func(int)) ([]Scores, error) {
			return backwards(ctx, side, seqs, done)
		}},
	}
}

// inBatches scores so many sequences a call.
func inBatches(ctx context.Context, side Side, seqs []Sequence, n int, done func(int)) ([]Scores, error) {
	var out []Scores
	for lo := 0; lo < len(seqs); lo += n {
		got, err := side.Score(ctx, seqs[lo:min(lo+n, len(seqs))], func(int) {})
		if err != nil {
			return nil, err
		}
		out = append(out, got...)
		done(len(out))
	}
	return out, nil
}

func backwards(ctx context.Context, side Side, seqs []Sequence, done func(int)) ([]Scores, error) {
	n := len(seqs)
	turned := make([]Sequence, n)
	for i, s := range seqs {
		turned[n-1-i] = s
	}
	got, err := side.Score(ctx, turned, done)
	if err != nil || len(got) != n {
		return got, err
	}
	out := make([]Scores, n)
	for i := range got {
		out[n-1-i] = got[i]
	}
	return out, nil
}

// try scores under one condition and compares with the first time. What cannot be tried is told.
func (o SelfOptions) try(ctx context.Context, t Trial, base []Scores) Condition {
	out := Condition{Name: t.Name, Says: t.Says}
	got, err := t.Score(ctx, o.Sequences, func(n int) { o.Progress(t.Name, n, len(o.Sequences)) })
	if err == nil && len(got) != len(base) {
		err = fmt.Errorf("%d results for %d sequences", len(got), len(base))
	}
	for i := 0; err == nil && i < len(got); i++ {
		err = got[i].fits(o.Sequences[i])
	}
	if err != nil {
		out.Failed = err.Error()
		return out
	}
	c := Comparing{Name: t.Name, Worst: 1, Tokenizer: o.Tokenizer}
	cmp := Compare(c, o.Sequences, base, got)
	out.Gap = cmp.Gap
	if len(cmp.Worst) > 0 {
		out.Worst = &cmp.Worst[0]
		out.First = c.first(o.Sequences, base, got)
	}
	return out
}

// first returns the first token whose logprobs are not the same to the bit.
func (c Comparing) first(seqs []Sequence, a, b []Scores) *WorstToken {
	for i, s := range seqs {
		for t := range s.Response {
			if p := (pair{a[i].LogProbs[t], b[i].LogProbs[t]}); !p.same() {
				w := c.token(s, place{i, t, p})
				return &w
			}
		}
	}
	return nil
}

// verdict says which condition breaks.
func (o SelfOptions) verdict(all []Condition) Verdict {
	v := Verdict{Kind: SameBits, OK: true, Limit: 0, Reason: "the engine promises the same bits"}
	if !o.Exact {
		v.Limit, v.Reason = RoundingLimit, roundingReason
	}
	if o.Settings.Tolerance > 0 {
		v.Limit, v.Reason = Figure(o.Settings.Tolerance), "as --tolerance says"
	}
	tried, off := 0, 0
	var broke *Condition
	for i, c := range all {
		switch {
		case c.Failed != "":
			v.More = append(v.More, fmt.Sprintf("%s could not be tried: %s", c.Name, c.Failed))
			continue
		case c.Gap.NonFinite > 0 || c.Gap.Max > v.Limit:
			if broke == nil {
				broke = &all[i]
			}
			v.More = append(v.More, fmt.Sprintf("%s (%s): %s", c.Name, c.Says, c.Gap.words()))
		case c.Gap.Exact != 1:
			off++
		}
		tried++
	}
	o.says(&v, broke, tried, off, len(all))
	return v
}

func (o SelfOptions) says(v *Verdict, broke *Condition, tried, off, all int) {
	switch {
	case broke != nil:
		t := broke.First
		v.Kind, v.OK = Differs, false
		v.Says = fmt.Sprintf("a condition that must not matter does: %q changes logprobs, first at position %d of sequence %d", broke.Name, t.Position, t.Sequence)
	case tried == 0:
		v.Kind, v.OK, v.Says = Differs, false, "no condition could be tried"
	case off > 0:
		v.Kind = Rounding
		v.Says = fmt.Sprintf("equal within %s nats under all %d conditions, and not the same bits under %d of them", nats(v.Limit), tried, off)
	default:
		v.Says = fmt.Sprintf("the same bits under all %d conditions", tried)
	}
	if tried < all && v.OK && o.Exact {
		v.OK = false
		v.Says += fmt.Sprintf("; %d could not be tried", all-tried)
	}
}
