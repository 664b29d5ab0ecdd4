package verdict

import (
	"fmt"
	"math"

	"furlong/metrics/trend"
)

// notable is the part of its height by which the gap must surely rise or fall over all cycles before that is spoken of.
const notable = 0.2

// From which share on invalid rewards and cut answers are spoken of with a warning.
const (
	manyInvalid   = 0.02
	manyTruncated = 0.25
)

// honest says whether the numbers can be trusted: what the engines differ by, what could not be graded, which updates arrived.
func honest(r Run) Sentence {
	s := Sentence{ID: "honest", Tone: OK, Links: []Link{{"largest gaps", "/samples?sort=-gap"}}}
	gap, measured := r.Points["train/logp_diff/mean"]
	switch {
	case !measured:
		s.Big, s.Tone, s.Links = "Gap not measured", None, nil
		s.Text = "No row has logprobs of both engines."
	case exact(r):
		s.Big = "Gap 0, the same bits"
		s.Text = fmt.Sprintf("0 in %s: the same bits for %s tokens.", allCycles(len(gap.Y)), Count(r.Points["train/tokens"].sum()))
	default:
		s.gap(r, gap)
	}
	s.Text = join(s.Text, s.nonfinite(r), s.invalid(r), s.truncated(r), s.attested(r))
	return s
}

func allCycles(n int) string {
	if n == 1 {
		return "the one cycle"
	}
	return fmt.Sprintf("all %s cycles", Count(float64(n)))
}

// exact reports whether no token of any cycle had two logprobs.
func exact(r Run) bool {
	peak := r.Points["train/logp_diff/max"].Y
	for _, v := range peak {
		if v != 0 { // not a number differs too
			return false
		}
	}
	return len(peak) > 0 && len(peak) == len(r.Points["train/logp_diff/mean"].Y)
}

// gap says how large the gap is over all tokens, and where it goes.
func (s *Sentence) gap(r Run, p Points) {
	mean := meanGap(p, r.Points["train/tokens"])
	if math.IsNaN(mean) {
		s.Big, s.Text, s.Tone = "Gap is no number", "No cycle has a finite one.", Bad
		return
	}
	s.Big = fmt.Sprintf("Gap %s nats", Nats(mean))
	l, ok := trend.Fit(p.X, p.Y)
	if !ok {
		s.Text = tooFew(p)
		return
	}
	s.Text = "Trend " + Slope(l)
	switch {
	case l.Flat():
		s.Big += ", flat"
	case math.Abs(l.Slope*(p.X[len(p.X)-1]-p.X[0])) <= notable*l.At(p.X[0]):
		s.Big += ", nearly flat"
	case l.Slope > 0:
		s.Big += ", rising"
		s.Tone = Warn
	default:
		s.Big += ", falling"
	}
	s.Text = join(s.Text, s.afterUpdates(r, p))
}

// meanGap returns the mean over the tokens of all cycles whose gap is finite.
func meanGap(gap, tokens Points) float64 {
	sum, all := 0.0, 0.0
	for i, v := range gap.Y {
		if n, ok := tokens.at(gap.X[i]); ok && n > 0 && trend.Finite(v) {
			sum += v * n
			all += n
		}
	}
	return sum / all
}

// afterUpdates says whether the gap is larger in the cycles whose weights are new than in those that go on with the weights of the one before. It says
// nothing where a run has fewer than five of either.
func (s *Sentence) afterUpdates(r Run, gap Points) string {
	version := r.Points["update/version"]
	var fresh, old []float64
	for i := 1; i < len(gap.X); i++ {
		was, a := version.at(gap.X[i-1])
		is, b := version.at(gap.X[i])
		switch {
		case !a || !b || !trend.Finite(gap.Y[i]):
		case is != was:
			fresh = append(fresh, gap.Y[i])
		default:
			old = append(old, gap.Y[i])
		}
	}
	if len(fresh) < 5 || len(old) < 5 {
		return ""
	}
	d, lo := welch(fresh, old)
	if lo <= 0 {
		return "No rise after updates."
	}
	s.Tone = Warn
	return fmt.Sprintf("After updates it is higher by %s nats.", Nats(d))
}

// welch returns the difference of two means, and the lower end of its 95 % interval, without taking the two to spread alike.
func welch(a, b []float64) (difference, lo float64) {
	va, vb := variance(a)/float64(len(a)), variance(b)/float64(len(b))
	difference = trend.Mean(a) - trend.Mean(b)
	if va+vb == 0 {
		return difference, difference
	}
	df := (va + vb) * (va + vb) / (va*va/float64(len(a)-1) + vb*vb/float64(len(b)-1))
	return difference, difference - trend.Student(max(1, df))*math.Sqrt(va+vb)
}

func variance(y []float64) float64 {
	m, sum := trend.Mean(y), 0.0
	for _, v := range y {
		sum += (v - m) * (v - m)
	}
	return sum / float64(len(y)-1)
}

func (s *Sentence) nonfinite(r Run) string {
	n := r.Points["train/nonfinite_tokens"].sum()
	if n == 0 {
		return ""
	}
	s.Tone = Bad
	s.Big += ", not all finite"
	return fmt.Sprintf("%s have a logprob that is not finite.", plural(n, "token"))
}

func (s *Sentence) invalid(r Run) string {
	all := r.Points["rollout/samples"].sum()
	if all == 0 {
		return ""
	}
	share := r.Points["reward/invalid_samples"].sum() / all
	if share >= manyInvalid {
		s.worse(Warn)
	}
	if share == 0 {
		return "No invalid rewards."
	}
	return fmt.Sprintf("Invalid rewards %s.", Share(share))
}

// truncated speaks of cut answers where they are many.
func (s *Sentence) truncated(r Run) string {
	v, ok := r.Points["rollout/truncated_ratio"].last()
	if !ok || v < manyTruncated {
		return ""
	}
	s.worse(Warn)
	return fmt.Sprintf("%s of the last cycle's answers are cut at the length limit.", Share(v))
}

// attested says whether the engine attested the weights that it was given.
func (s *Sentence) attested(r Run) string {
	p := r.Points["update/attested"]
	if len(p.Y) == 0 {
		return ""
	}
	again := ""
	if n := r.Points["update/retries"].sum(); n > 0 {
		again = fmt.Sprintf(" %s sent again.", plural(n, "update"))
	}
	switch missing := float64(len(p.Y)) - p.sum(); {
	case missing == 0:
		return "Every update attested." + again
	case p.sum() == 0:
		s.worse(Warn)
		return "No update attested: the engine attests nothing." + again
	default:
		s.worse(Warn)
		return fmt.Sprintf("%s of %s updates not attested.", Count(missing), Count(float64(len(p.Y)))) + again
	}
}

// worse sets the tone unless it is as bad already.
func (s *Sentence) worse(t Tone) {
	if s.Tone != Bad {
		s.Tone = t
	}
}
