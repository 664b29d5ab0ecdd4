package store

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"furlong/dash/api"
	"furlong/metrics"
	"furlong/metrics/samples"
	"furlong/verdict"
)

// sharesMax is how many samples a drawer lists.
const sharesMax = 20

// fewAre is how many samples count as few, and fewMake the part of a rise that they must make.
const (
	fewAre  = 3
	fewMake = 0.5
)

// tails are the series of the gap that a few tokens decide: a sample's part is that of its tokens above the usual value.
var tails = []string{"train/logp_diff/p50", "train/logp_diff/p95", "train/logp_diff/p99", "train/logp_diff/p999", "train/logp_diff/max"}

// A part is what a sample has in what moved.
type part struct {
	row   *samples.Row
	share float64
}

// shares ranks the samples of the cycle by their part in what moved.
func (d *drawer) shares() error {
	x := &d.r.index
	x.mu.Lock()
	defer x.mu.Unlock()
	e, rows, err := x.cycle(d.out.Cycle, "")
	if err != nil {
		a, ok := errors.AsType[*Asked](err)
		switch {
		case !ok:
			return err
		case a.Status == Missing && len(x.bad()) == 0:
			d.out.Note = "There are no samples of this cycle."
		default:
			d.out.Note = sentence(a.Reply)
		}
		return nil
	}
	d.versions(rows)
	parts := d.parts(x, e, rows)
	slices.SortStableFunc(parts, func(a, b part) int {
		return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(b.row.GapMax, a.row.GapMax), cmp.Compare(a.row.Group, b.row.Group), cmp.Compare(a.row.Slot, b.row.Slot))
	})
	for _, p := range parts[:min(len(parts), sharesMax)] {
		s := x.sample(p.row, e)
		x.preview(&s)
		d.out.Samples = append(d.out.Samples, api.Share{Sample: s, Share: api.Measured(p.share)})
	}
	return nil
}

// sentence is an error as a note says it.
func sentence(e api.Error) string {
	text := strings.ToUpper(e.Error[:1]) + e.Error[1:] + "."
	if e.Hint != "" {
		text += " " + strings.ToUpper(e.Hint[:1]) + e.Hint[1:] + "."
	}
	return text
}

// versions lists the versions that chose tokens, oldest first.
func (d *drawer) versions(rows []samples.Row) {
	seen := map[uint32]bool{}
	var all []samples.Row
	for _, r := range rows {
		if !seen[uint32(r.Version)] {
			seen[uint32(r.Version)] = true
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b samples.Row) int { return cmp.Compare(a.Version.Count(), b.Version.Count()) })
	for _, r := range all {
		d.out.Versions = append(d.out.Versions, verdict.Version(r.Version))
	}
}

// parts works the shares out: of a mean, (x - usual) w over the sum of it; of a tail, the sample's part of the tokens beyond the usual value.
func (d *drawer) parts(x *sampleIndex, e *entry, rows []samples.Row) []part {
	if slices.Contains(tails, d.main.key) {
		if parts, ok := d.tail(x, e, rows); ok {
			return parts
		}
	}
	of := shareOf(d.main.key)
	switch {
	case d.main.key == "":
		d.out.Note = "Samples by their largest gap."
	case of == nil:
		d.out.Note = fmt.Sprintf("No samples stand behind %s; these have the largest gaps.", verdict.Visible(d.main.key))
	default:
		return d.mean(rows, of)
	}
	if slices.Contains(tails, d.main.key) {
		d.out.Note = "The tokens of this cycle were not kept, so samples are ranked by their largest gap alone."
	}
	parts := make([]part, len(rows))
	for i := range rows {
		parts[i] = part{&rows[i], math.NaN()}
	}
	return parts
}

func (d *drawer) mean(rows []samples.Row, of func(*samples.Row) (float64, float64)) []part {
	parts := make([]part, len(rows))
	sum := 0.0
	for i := range rows {
		v, w := of(&rows[i])
		if math.IsNaN(v) {
			v = d.main.usual // not measured: it moved nothing
		}
		parts[i] = part{&rows[i], (v - d.main.usual) * w}
		sum += parts[i].share
	}
	for i := range parts {
		if sum == 0 {
			parts[i].share = 0
			continue
		}
		parts[i].share /= sum
	}
	d.note(parts)
	return parts
}

// tail counts tokens beyond the usual value. It reads all tokens of the cycle; without a body there is no answer.
func (d *drawer) tail(x *sampleIndex, e *entry, rows []samples.Row) ([]part, bool) {
	parts := make([]part, len(rows))
	sum := 0.0
	for i := range rows {
		s, err := x.stored(e.Key, rows[i].Group, rows[i].Slot)
		if err != nil {
			return nil, false
		}
		n := 0
		for _, pos := range places(s) {
			n += one(gapOf(s, pos) > d.main.usual)
		}
		parts[i] = part{&rows[i], float64(n)}
		sum += float64(n)
	}
	for i := range parts {
		if sum > 0 {
			parts[i].share /= sum
		}
	}
	d.note(parts)
	return parts, true
}

// note says how much the largest shares make.
func (d *drawer) note(parts []part) {
	if few := fewOf(parts); few == "" {
		largest := 0.0
		for _, p := range parts {
			largest = max(largest, p.share)
		}
		d.out.Note = fmt.Sprintf("No few samples explain it (largest %s).", verdict.Share(largest))
	} else {
		d.out.Note = upper(few) + "."
	}
}

// few says which few samples make most of what moved; empty if none do.
func (d *drawer) few() string {
	if strings.HasPrefix(d.out.Note, "No ") || d.out.Note == "" || len(d.out.Samples) == 0 || d.out.Samples[0].Share == "" {
		return ""
	}
	return lower(strings.TrimSuffix(d.out.Note, "."))
}

// fewOf says that so few samples make so much of it.
func fewOf(parts []part) string {
	top := slices.Clone(parts)
	slices.SortStableFunc(top, func(a, b part) int { return cmp.Compare(b.share, a.share) })
	sum, n := 0.0, 0
	for n < min(fewAre, len(top)) && sum < 0.9 && top[n].share > 0 {
		sum += top[n].share
		n++
	}
	if n == 0 || sum < fewMake || len(parts) <= fewAre {
		return ""
	}
	what := fmt.Sprintf("%d samples make", n)
	if n == 1 {
		what = "one sample makes"
	}
	groups := map[uint32]bool{}
	for _, p := range top[:n] {
		groups[p.row.Group] = true
	}
	if len(groups) == 1 {
		what = strings.Replace(what, " make", fmt.Sprintf(" of problem %d make", top[0].row.Group), 1)
	}
	return fmt.Sprintf("%s %s of it", what, verdict.Share(min(sum, 1)))
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
func lower(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// said are the names of the series that are spoken of most.
var said = map[string]string{
	gapMean: "Gap", "train/logp_diff/p99": "Gap p99", "train/logp_diff/max": "Largest gap", rewardKey: "Reward", truncAllKey: "Truncation", truncKey: "Truncation", lenKey: "Mean length",
	entropyKey: "Entropy", "train/grad_norm": "Gradient norm", "train/loss": "Loss", stepTime: "Cycle time", "perf/rollout_time": "Rollout time", invalidKey: "Invalid rewards",
}

// words returns what a series is called in a sentence.
func words(key string) string {
	if s, ok := said[key]; ok {
		return s
	}
	return verdict.Short(verdict.Visible(key), 120)
}

// spoken prints a value in the way of its unit.
func spoken(key string, v float64) string {
	s, _ := metrics.Lookup(key)
	switch s.Unit {
	case "share":
		return verdict.Share(v)
	case "s":
		return verdict.Seconds(v)
	case "reward":
		return verdict.Reward(v)
	case "tok/s":
		return verdict.Rate(v)
	case "bytes":
		return verdict.Bytes(v)
	case "nats":
		return verdict.Nats(v) + " nats"
	}
	return verdict.Significant(v, 3)
}
