package diverge

import (
	"fmt"
	"math"
	"strings"

	"furlong/kv"
	"furlong/parity/taps"
)

// place says where a boundary is, in words.
func (w *walk) place(d *taps.Diff) string {
	if d.Layer < 0 {
		return d.Name
	}
	if specs := w.specs(d.Layer); specs != nil {
		return fmt.Sprintf("layer %d (%s), %s", d.Layer, kindOf(specs), d.Name)
	}
	return fmt.Sprintf("layer %d, %s", d.Layer, d.Name)
}

func (w *walk) specs(layer int) []kv.Spec {
	if layer < 0 || layer >= len(w.c.Layers) {
		return nil
	}
	return w.c.Layers[layer]
}

// found describes the first op that is off.
func (w *walk) found(f *Finding, d *taps.Diff, r Row) {
	limit := w.limits.Of(d)
	f.Found, f.Kind, f.Layer, f.Op, f.At = true, Op, d.Layer, d.Name, r.At
	f.Local, f.Inherited, f.Limit, f.Reason = r.Local, r.Inherited, limit.Value, limit.Reason
	b := d.Boundary()
	f.Says = fmt.Sprintf("%s and %s diverge first at %s: %s. ", w.c.Side, w.c.Judge, w.place(d), b.Says) + w.seen(d, limit)
	f.Says = strings.ToUpper(f.Says[:1]) + f.Says[1:]
	switch {
	case w.c.Own:
		f.Kind = Path
		f.More = append(f.More, fmt.Sprintf("%s is held against its own model in its own formats, so its arithmetic is not in question: what it keeps between passes is at fault, "+
			"or how it cuts them (pages, shared prefixes, chunks, single tokens).", w.c.Side))
	case d.Name == taps.LogProb || d.Name == taps.Logits:
		f.Kind = Head
		f.More = append(f.More, w.head(d)...)
	}
	if n := w.unseen(d); n > 0 {
		f.More = append(f.More, fmt.Sprintf("The first %d positions were not computed when this was recorded (a cache held them): what %s reads of them is there what the cache held, and here what %s makes of them.",
			n, d.Title(), w.c.Judge))
	}
	if len(d.Spans) > 0 {
		f.More = append(f.More, fmt.Sprintf("What was recorded does not tell %s apart from %s: any of them may be at fault.", d.Title(), strings.Join(d.Spans, ", ")))
	}
	f.More = append(f.More, w.others(f, d)...)
	f.More = append(f.More, w.downstream(d)...)
}

// unseen returns how many positions were not computed where a boundary reads the rows of earlier tokens, too.
func (w *walk) unseen(d *taps.Diff) int {
	switch d.Name {
	case "attn_mix", "index_topk", "compress_pooled", "index_pooled":
	default:
		return 0
	}
	for i := range w.local {
		if k := &w.local[i]; k.Layer == d.Layer && k.Name == "kv" {
			return k.First
		}
	}
	return 0
}

// seen says what was seen, and what the limit is.
func (w *walk) seen(d *taps.Diff, limit Limit) string {
	at := w.above(d, limit)
	specs := w.specs(d.Layer)
	switch {
	case d.Problem != "":
		return fmt.Sprintf("What was recorded is impossible: %s.", d.Problem)
	case d.Boundary().Choice:
		return fmt.Sprintf("From equal inputs %d of %d choices differ, %s; the judge prefers its own by up to %s of what its scores are summed from, where rounding explains %.1e.",
			len(d.Differ), len(d.Errors), where(d, at, specs), margin(d.Worst()), limit.Value)
	case d.Name == taps.LogProb:
		return fmt.Sprintf("From the same rows before it the logprobs differ by up to %.3g nats (%.3g on average), %s; rounding explains %.1e.",
			d.Worst(), d.Mean(), where(d, at, specs), limit.Value)
	case len(d.Above(limit.Value)) == 0 && drifts(d, limit):
		return fmt.Sprintf("No row is off by more than rounding explains (%.1e), but all are off alike: values are %+.1e of their size larger under the judge, "+
			"and %+.1e on average over all elements, where rounding leaves %.1e: a constant is a little other.", limit.Value, d.Gain, d.Shift, limit.Steady)
	}
	return fmt.Sprintf("From equal inputs its results differ by up to %.3g of their size (%.3g on average), %s; %s explains %.1e.",
		d.Worst(), d.Mean(), where(d, at, specs), limit.Reason, limit.Value)
}

func margin(m float64) string {
	if math.IsInf(m, 1) {
		return "more than any score"
	}
	return fmt.Sprintf("%.1e", m)
}

// head says what can be seen of a head that is off.
func (w *walk) head(d *taps.Diff) []string {
	if d.Name == taps.Logits {
		return []string{"All is equal up to the last norm: the weight of the head differs, or what is done to logits before they are normalised."}
	}
	n := len(d.Errors)
	all := "All is equal up to the last norm: what differs is made by the head alone"
	switch {
	case d.Less > 0 && d.More == 0:
		return []string{fmt.Sprintf("%s. All logprobs of %s are higher: it normalises over fewer tokens (top-k, top-p, min-p, allowed tokens).", all, w.c.Side)}
	case d.More > 0 && d.Less == 0:
		return []string{fmt.Sprintf("%s. All logprobs of %s are lower: it normalises over more tokens (padding of the vocabulary), or its logits are flatter.", all, w.c.Side)}
	}
	return []string{fmt.Sprintf("%s: %d of %d logprobs of %s are higher, %d lower, as with another temperature, penalties or biases, or logits in a narrow format.", all, d.Less, n, w.c.Side, d.More)}
}

// mostOthers is how many more boundaries are named that are off, too.
const mostOthers = 6

// others names further boundaries that are off for themselves.
func (w *walk) others(f *Finding, d *taps.Diff) []string {
	var titles []string
	for _, r := range f.Rows {
		if title := taps.Title(r.Layer, r.Op); r.Over && title != d.Title() {
			titles = append(titles, title)
		}
	}
	if len(titles) == 0 {
		return []string{"No other op is off for itself."}
	}
	more := ""
	if n := len(titles) - mostOthers; n > 0 {
		titles, more = titles[:mostOthers], fmt.Sprintf(" and %d more", n)
	}
	return []string{fmt.Sprintf("Also off for themselves: %s%s.", strings.Join(titles, ", "), more)}
}

// downstream says what becomes of a difference further on.
func (w *walk) downstream(d *taps.Diff) []string {
	own := w.plain[d.Title()]
	if own == nil {
		return nil
	}
	says := fmt.Sprintf("As both sides have it the difference is %s there", figure(own))
	last := w.layers - 1
	for _, title := range []string{taps.Title(d.Layer, "streams"), taps.Title(last, "streams"), taps.FinalNorm, taps.LogProb} {
		p := w.plain[title]
		if p == nil || p == own || strings.Contains(says, " "+title) {
			continue
		}
		says += fmt.Sprintf(", %s at %s", figure(p), title)
	}
	if late := lateness(w.plain[taps.LogProb]); late != "" {
		return []string{says + ".", late}
	}
	return []string{says + "."}
}

// figure says how large a difference is.
func figure(d *taps.Diff) string {
	switch {
	case d.Boundary().Choice:
		return fmt.Sprintf("%d of %d choices", len(d.Differ), len(d.Errors))
	case d.Name == taps.LogProb:
		return fmt.Sprintf("%.2g nats", d.Worst())
	}
	return fmt.Sprintf("%.2g", d.Worst())
}

// much is how far a bin must be above the one before to count as a beginning.
const much = 20

// lateness says from which position on logprobs differ, if not from the first on.
func lateness(d *taps.Diff) string {
	if d == nil {
		return ""
	}
	bins := d.Bins()
	for i := 1; i < len(bins); i++ {
		before, now := 0.0, bins[i].Worst
		for _, b := range bins[:i] {
			before = math.Max(before, b.Worst)
		}
		if now > much*math.Max(before, eps) {
			return fmt.Sprintf("Logprobs up to position %d differ by at most %.1e nats, those from %d to %d by up to %.1e.", bins[i].From-1, before, bins[i].From, bins[i].To-1, now)
		}
	}
	return ""
}

// nothing says what a gap is made of where no op is off.
func (w *walk) nothing(f *Finding) {
	same, tie := true, (*taps.Diff)(nil)
	for i := range w.local {
		d := &w.local[i]
		same = same && d.Same && d.Skipped == ""
		if len(d.Differ) > 0 && tie == nil {
			tie = d
		}
	}
	for i := range w.list {
		same = same && w.list[i].Same
		if d := &w.list[i]; tie == nil && len(d.Differ) > 0 {
			tie = d
		}
	}
	worst, lp := w.worst(), w.plain[taps.LogProb]
	gap := ""
	if lp != nil {
		gap = fmt.Sprintf(" Logprobs differ by up to %.2g nats.", lp.Worst())
	}
	switch {
	case same:
		f.Kind, f.Says = SameBits, fmt.Sprintf("%s and %s compute the same bits at all %d boundaries.", w.c.Side, w.c.Judge, len(w.local))
	case !w.limits.Equal():
		f.Kind, f.Says = Noise, fmt.Sprintf("No op is off by more than the formats explain; the largest difference that one makes of equal inputs is %s.%s", worst, gap)
	case tie != nil:
		f.Kind, f.Says = Tie, fmt.Sprintf("No op is off by more than float32 rounding. A choice fell the other way within it: that is no mistake, but it is the reason of the gap.%s", gap)
	default:
		f.Kind, f.Says = Rounding, fmt.Sprintf("Equal up to float32 rounding: the largest difference that an op makes of equal inputs is %s.%s", worst, gap)
	}
	f.Says = strings.ToUpper(f.Says[:1]) + f.Says[1:]
	if tie != nil {
		f.More = append(f.More, w.tie(tie))
	}
	if g := w.growth(); g != "" && f.Kind != SameBits {
		f.More = append(f.More, g)
	}
	if late := lateness(lp); late != "" {
		f.More = append(f.More, late)
	}
}

// worst names the largest local difference.
func (w *walk) worst() string {
	var most *taps.Diff
	for i := range w.local {
		if d := &w.local[i]; !d.Boundary().Choice && d.Name != taps.LogProb && (most == nil || d.Worst() > most.Worst()) {
			most = d
		}
	}
	if most == nil {
		return "none"
	}
	return fmt.Sprintf("%.1e of its size, at %s, where %.1e is explained", most.Worst(), most.Title(), w.limits.Of(most).Value)
}

// tie describes the first choice that differs.
func (w *walk) tie(d *taps.Diff) string {
	at := fmt.Sprintf("%s: %d of %d choices differ, the first at position %d", d.Title(), len(d.Differ), len(d.Errors), d.Position(d.Differ[0]))
	for i := range w.local {
		if l := &w.local[i]; l.Title() == d.Title() && len(l.Differ) > 0 {
			return fmt.Sprintf("%s, by a margin of %s at most, where rounding explains %.1e.", at, margin(l.Worst()), w.limits.Of(l).Value)
		}
	}
	return at + "; from equal inputs both choose alike."
}

// growth says where the difference of the streams grows most.
func (w *walk) growth() string {
	before, most, says := 0.0, 0.0, ""
	for layer := range w.layers {
		p := w.plain[taps.Title(layer, "streams")]
		if p == nil {
			continue
		}
		if e := p.Worst(); before > 0 && e/before > most {
			most = e / before
			says = fmt.Sprintf("The difference of the streams grows most in layer %d: from %.1e to %.1e of their size.", layer, before, e)
		}
		before = p.Worst()
	}
	return says
}
