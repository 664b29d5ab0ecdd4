package parity

import (
	"fmt"
	"math"
	"strings"
)

// RoundingLimit is the largest gap, in nats, that float32 rounding explains between engines of equal formats. A logprob is a logit less the log of a
// sum: sums of hundreds to thousands of products each, of which every rounding is 2^-24 of its size. Other orders of the same sums leave a few
// 1e-6 nats in models of float32; the limit is some times that, and far below what any change of a formula makes.
const RoundingLimit = 2e-5

const roundingReason = "float32 sums in another order differ by a few 1e-6 nats; the limit is some times that"

// A judging is what a verdict is made of.
type judging struct {
	a, b      About
	tolerance float64
	all       []Comparison
	twin      *Comparison // what is left once one side has the other's formats; nil where nobody could try
	twinSays  string
	div       *Divergence
}

// verdict says what the figures amount to.
func (j judging) verdict() Verdict {
	v := Verdict{Limit: RoundingLimit, Reason: roundingReason}
	if j.tolerance > 0 {
		v.Limit, v.Reason = Figure(j.tolerance), "as --tolerance says"
	}
	worst := j.worst()
	v.More = j.more()
	switch {
	case worst.Gap.NonFinite > 0:
		return j.broken(v, worst)
	case worst.Gap.Tokens == 0:
		v.Kind, v.Says = Differs, "no token was compared"
	case j.exact():
		v.Kind, v.OK = SameBits, true
		v.Says = fmt.Sprintf("the same bits: all %d logprobs are equal in both engines", j.all[0].Gap.Tokens)
	case worst.Gap.Max > v.Limit:
		return j.beyond(v, worst)
	case j.diverges():
		return j.differs(v, fmt.Sprintf("logprobs agree within %s nats, and yet the engines differ: first at ", nats(worst.Gap.Max)))
	default:
		v.Kind, v.OK = Rounding, true
		v.Says = fmt.Sprintf("equal up to float32 rounding: the largest gap is %s nats, want at most %s", nats(worst.Gap.Max), nats(v.Limit))
		if j.tolerance > 0 {
			v.Kind = Within
			v.Says = fmt.Sprintf("equal within the tolerance: the largest gap is %s nats, want at most %s", nats(worst.Gap.Max), nats(v.Limit))
		}
	}
	return v
}

// limit returns what the largest gap is held against.
func (j judging) limit() float64 {
	if j.tolerance > 0 {
		return j.tolerance
	}
	return RoundingLimit
}

// worst returns the comparison with the largest gap, one with tokens that have no finite logprob before all others.
func (j judging) worst() Comparison {
	w := j.all[0]
	for _, c := range j.all[1:] {
		if c.Gap.NonFinite > w.Gap.NonFinite || c.Gap.NonFinite == w.Gap.NonFinite && c.Gap.Max > w.Gap.Max {
			w = c
		}
	}
	return w
}

// exact reports whether everything that was compared is the same to the bit.
func (j judging) exact() bool {
	for _, c := range j.all {
		if c.Gap.Exact != 1 {
			return false
		}
	}
	return true
}

// broken is the verdict on logprobs that are no numbers.
func (j judging) broken(v Verdict, c Comparison) Verdict {
	v.Kind = Differs
	v.Says = fmt.Sprintf("differ: %d of %d tokens have a logprob that is no finite number (%s)", c.Gap.NonFinite, c.Gap.Tokens, c.Says)
	if len(c.Worst) > 0 {
		t := c.Worst[0]
		v.More = append([]string{fmt.Sprintf("the first is token %d (%q) at position %d of sequence %d: A says %v, B %v", t.Token, t.Text, t.Position, t.Sequence, float64(t.A), float64(t.B))}, v.More...)
	}
	return v
}

// beyond is the verdict on a gap beyond the limit: formats explain it, or something differs.
func (j judging) beyond(v Verdict, c Comparison) Verdict {
	gap := fmt.Sprintf("the largest gap is %s nats, the mean %s (%s)", nats(c.Gap.Max), nats(c.Gap.Mean), c.Says)
	switch {
	case j.diverges():
		v.More = append([]string{gap}, v.More...)
		return j.differs(v, "differ: first at ")
	case j.faultless() && j.tolerance == 0 && !DifferentFormats(j.a, j.b):
		v.Kind, v.OK = Rounding, true
		v.Says = fmt.Sprintf("equal up to float32 rounding, op by op: %s, and there no op of either engine makes more of equal inputs than rounding does (sequences beyond %s nats: %d)",
			gap, nats(v.Limit), j.div.Beyond)
		return v
	case j.explained() && j.tolerance > 0:
		v.Kind = Differs
		v.Says = fmt.Sprintf("differ by more than the tolerance: %s, want at most %s; their formats explain it", gap, nats(v.Limit))
		return v
	case j.explained():
		v.Kind, v.OK = Explained, true
		v.Says = fmt.Sprintf("differ as their formats explain: %s", gap)
		v.Reason += "; the formats differ (" + j.a.formats() + " and " + j.b.formats() + ")"
		return v
	}
	v.Kind = Differs
	v.Says = fmt.Sprintf("differ: %s, want at most %s", gap, nats(v.Limit))
	if d := j.div; d != nil && d.Method == "forced" && !d.Found && !j.faultless() {
		v.More = append(v.More, d.unsettled())
	}
	if place := c.concentrated(); place != "" {
		v.More = append([]string{place}, v.More...)
	}
	if j.a.formats() != j.b.formats() && j.twin == nil && j.div == nil {
		v.More = append(v.More, fmt.Sprintf("A holds %s, and B %s: whether that explains the gap nobody here can compute; --tolerance sets a limit", said(j.a.formats()), said(j.b.formats())))
	}
	return v
}

func said(s string) string {
	if s == "" {
		return "formats that it does not tell"
	}
	return s
}

// explained reports whether the gap is what the formats make: with one side in the other's formats nothing is left beyond rounding, or the judge
// found no op that does more than they do.
func (j judging) explained() bool {
	if !DifferentFormats(j.a, j.b) {
		return false
	}
	return j.twin != nil && j.twin.Gap.NonFinite == 0 && j.twin.Gap.Max <= RoundingLimit || j.twin == nil && j.faultless()
}

// faultless reports whether a judge was held against both sides in every sequence beyond the limit, and found no op that makes more of its inputs than their formats
// and rounding explain: what is left is roundings that grew, or a choice that fell the other way at a tie.
func (j judging) faultless() bool {
	return j.div != nil && j.div.Method == "forced" && !j.div.Found && j.div.Judged == "AB" && j.div.Looked >= j.div.Beyond
}

func (j judging) diverges() bool { return j.div != nil && j.div.Found }

// differs is the verdict on an op that was found.
func (j judging) differs(v Verdict, begin string) Verdict {
	d := j.div
	v.Kind, v.OK = Differs, false
	v.Where = d.place()
	v.Says = begin + v.Where
	if d.Side != "" {
		v.Says += ", in " + d.Side
	}
	v.More = append(append([]string{d.Says}, d.More...), v.More...)
	return v
}

// unsettled says why a judge that found nothing does not settle the matter.
func (d *Divergence) unsettled() string {
	switch d.Judged {
	case "A":
		return "A was judged, and no op of it is off; B tells no inner results, so whether it is at fault cannot be seen"
	case "B":
		return "B was judged, and no op of it is off; A tells no inner results, so whether it is at fault cannot be seen"
	}
	return fmt.Sprintf("%d of %d sequences beyond the limit were looked at, op by op; --taps %d looks at all", d.Looked, d.Beyond, d.Beyond)
}

// place names a boundary as people say it.
func (d *Divergence) place() string {
	if d.Layer < 0 {
		return d.Op
	}
	return fmt.Sprintf("layer %d, %s", d.Layer, d.Op)
}

// more says what each comparison beside the first found, what a twin showed, and what a judge did not find.
func (j judging) more() (out []string) {
	for _, c := range j.all[1:] {
		out = append(out, fmt.Sprintf("%s: %s", c.Says, c.Gap.words()))
	}
	if j.twin != nil {
		out = append(out, fmt.Sprintf("%s: %s", j.twinSays, j.twin.Gap.words()))
	}
	if j.div != nil && !j.div.Found && j.div.Says != "" {
		out = append(append(out, j.div.Says), j.div.More...)
	}
	return out
}

// words sums a gap up.
func (g Gap) words() string {
	switch {
	case g.NonFinite > 0:
		return fmt.Sprintf("%d of %d tokens without a finite logprob", g.NonFinite, g.Tokens)
	case g.Exact == 1:
		return fmt.Sprintf("the same bits, %d tokens", g.Tokens)
	}
	return fmt.Sprintf("%s the same bits, mean %s, largest %s nats", percent(g.Exact), nats(g.Mean), nats(g.Max))
}

// quiet is a share of the largest gap: buckets below it have no part in the difference.
const quiet = 1.0 / 64

// concentrated says where the gap is when it is in some positions only: all buckets before the first loud one are quiet.
func (c Comparison) concentrated() string {
	most := 0.0
	for _, b := range c.ByPosition {
		most = math.Max(most, float64(b.Gap.Max))
	}
	var before []string
	for _, b := range c.ByPosition {
		if float64(b.Gap.Max) > quiet*most {
			if len(before) == 0 {
				return ""
			}
			from, _, _ := strings.Cut(b.Name, "-")
			return fmt.Sprintf("the gap begins at response position %s: before it the largest is %s nats", from, nats(c.before(b.Name)))
		}
		before = append(before, b.Name)
	}
	return ""
}

// before returns the largest gap of the buckets of positions before one.
func (c Comparison) before(name string) Figure {
	most := Figure(0)
	for _, b := range c.ByPosition {
		if b.Name == name {
			break
		}
		most = max(most, b.Gap.Max)
	}
	return most
}

// nats prints a gap with as many digits as anybody reads.
func nats(f Figure) string { return fmt.Sprintf("%.3g", float64(f)) }
