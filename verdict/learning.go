package verdict

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"furlong/metrics/trend"
)

// learning says how the reward goes, and what held-out problems say of it.
func learning(r Run) Sentence {
	s := Sentence{ID: "learning", Tone: None}
	reward, rewarded := r.Points["rollout/raw_reward"]
	loss, trained := r.Points["train/loss"]
	switch {
	case rewarded:
		up := s.course("Reward", reward, 1)
		s.Text = join(s.Text, s.heldOut(r, up))
	case trained:
		s.course("Loss", loss, -1)
		s.Text = join(s.Text, s.heldOut(r, false))
	default:
		s.Big, s.Text = "Nothing measured yet", join("The first cycle's reward comes with its row", s.heldOut(r, false))
	}
	return s
}

// course says from where to where a series goes, and its slope. good is the sign of the wanted slope. It reports whether the series surely goes that way.
func (s *Sentence) course(name string, p Points, good float64) bool {
	first, last := trend.Thirds(p.Y)
	l, ok := trend.Fit(p.X, p.Y)
	switch {
	case math.IsNaN(first):
		s.Big, s.Text, s.Tone = name+" is no number", "No row has a finite one.", Bad
		return false
	case !ok:
		s.Big = fmt.Sprintf("%s %s", name, Reward(last))
		s.Text = tooFew(p)
		return false
	}
	s.Big = fmt.Sprintf("%s %s → %s", name, Reward(first), Reward(last))
	lo, hi := l.Interval()
	s.Text = Slope(l) + "."
	switch {
	case l.Flat():
		s.Text = join(s.Text, "That is not distinguishable from flat.")
	case good*lo > 0 && good*hi > 0:
		s.Tone = OK
		return true
	default:
		s.Tone = Warn
	}
	return false
}

// tooFew says that rows give no line.
func tooFew(p Points) string {
	return fmt.Sprintf("%s: too few for a trend, %d are enough.", plural(float64(len(p.Y)), "row"), trend.Fewest)
}

// plural prints a number of things.
func plural(n float64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return Count(n) + " " + thing + "s"
}

// Slope prints the slope of a line for 100 cycles, with its interval: +0.087 per 100 cycles [+0.066, +0.109].
func Slope(l trend.Line) string {
	lo, hi := l.Interval()
	n := max(3, min(places(100*(hi-lo)), places(10*max(math.Abs(lo), math.Abs(hi))))) // two digits of the interval's width, and three of its end
	return fmt.Sprintf("%s per 100 cycles %s", Signed(100*l.Slope, n), Range(100*lo, 100*hi, n))
}

// Sets returns the names of the held-out sets of a run, by name.
func Sets(r Run) []string {
	var names []string
	for k := range maps.Keys(r.Points) {
		if name, ok := strings.CutPrefix(k, "eval/"); ok && strings.HasSuffix(name, "-pass@1") {
			names = append(names, strings.TrimSuffix(name, "-pass@1"))
		}
	}
	slices.Sort(names)
	return names
}

// heldOut says what became of pass@1 of each set. up says that the training reward surely rises.
func (s *Sentence) heldOut(r Run, up bool) string {
	var text []string
	for _, set := range Sets(r) {
		name := "Held-out pass@1"
		if len(Sets(r)) > 1 {
			name += " of " + said(set)
		}
		text = append(text, s.set(r, set, name, up))
	}
	if len(text) == 0 {
		return "There is no evaluation yet."
	}
	s.Links = append(s.Links, Link{"evaluations", "/evals"})
	return strings.Join(text, " ")
}

func (s *Sentence) set(r Run, set, name string, up bool) string {
	p := r.Points["eval/"+set+"-pass@1"]
	first, last := p.Y[0], p.Y[len(p.Y)-1]
	if len(p.Y) == 1 {
		return fmt.Sprintf("%s %s after cycle %s.", name, Reward(first), Count(p.X[0]))
	}
	d, paired := r.Held[set]
	if !paired {
		return fmt.Sprintf("%s %s → %s.", name, Reward(first), Reward(last))
	}
	text := fmt.Sprintf("%s %s → %s: %s", name, Reward(first), Reward(last), Interval(d.Value, d.Lo, d.Hi, 2))
	switch {
	case d.Hi < 0 && up:
		s.Tone = Bad
		s.Big += ", held-out falls"
		return text + ": reward rises and skill falls."
	case d.Hi < 0:
		s.Tone = Warn
	case d.Lo <= 0:
		return text + ", not distinguishable from none."
	case s.Tone == None:
		s.Tone = OK
	}
	return text + "."
}

// join makes one text of parts that are not empty, each ended by a full stop.
func join(parts ...string) string {
	var kept []string
	for _, p := range parts {
		if p == "" {
			continue
		}
		if !strings.HasSuffix(p, ".") {
			p += "."
		}
		kept = append(kept, p)
	}
	return strings.Join(kept, " ")
}
