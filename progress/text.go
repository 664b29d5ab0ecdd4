package progress

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// A part is a piece of the line. Where there is no room for all, the ones of the highest rank are left out first; rank 0 stays, in as few words as need be.
type part struct {
	text string
	rank int
}

// Ranks of the parts, what is needed most first. Of a note, the first piece says most.
const (
	counted = iota
	left
	noted
	titled
	paced
	second
	shared
	further
)

// text is the line as it stands while the work goes on, in at most width columns; 0 is as wide as it gets.
func (l *Line) text(now time.Time, width int) string {
	parts := l.head()
	rate := l.rate(now)
	if rate > 0 {
		parts = append(parts, part{l.pace(rate), paced})
	}
	if rest := float64(l.o.Total - l.done); rate > 0 && rest > 0 {
		parts = append(parts, part{span(rest/rate) + " left", left})
	}
	return l.fitted(append(parts, l.words()...), width)
}

// last is the line at the end: the rate of the whole, and how long it took.
func (l *Line) last(now time.Time, width int) string {
	parts := l.head()
	took := now.Sub(l.start).Seconds()
	if took > 0 && l.done > 0 {
		parts = append(parts, part{l.pace(float64(l.done) / took), paced})
	}
	parts = append(parts, part{"took " + span(took), left})
	return l.fitted(append(parts, l.words()...), width)
}

// head is the title, what is done, and its share of the whole.
func (l *Line) head() []part {
	parts := []part{{l.o.Title, titled}, {l.count(), counted}}
	if l.o.Total > 0 {
		parts = append(parts, part{l.share(), shared})
	}
	return parts
}

// words are the pieces of the note.
func (l *Line) words() (out []part) {
	ranks := []int{noted, second}
	for _, w := range strings.Split(l.note, gap) {
		if w = strings.TrimSpace(w); w == "" {
			continue
		}
		rank := further
		if n := len(out); n < len(ranks) {
			rank = ranks[n]
		}
		out = append(out, part{w, rank})
	}
	return out
}

// gap is what stands between parts.
const gap = "  "

// fitted leaves out whole parts until the rest fits, so that nothing ends in the middle of a number.
func (l *Line) fitted(parts []part, width int) string {
	for {
		text := join(parts)
		if width <= 0 || utf8.RuneCountInString(text) <= width {
			return text
		}
		if len(parts) <= 1 {
			return l.least(width)
		}
		parts = without(parts)
	}
}

func join(parts []part) string {
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = p.text
	}
	return strings.Join(texts, gap)
}

// without leaves out the part that matters least; of equals the last.
func without(parts []part) []part {
	least := 0
	for i, p := range parts {
		if p.rank >= parts[least].rank {
			least = i
		}
	}
	return append(parts[:least:least], parts[least+1:]...)
}

// least is what is done where not even that fits with its unit.
func (l *Line) least(width int) string {
	bare := fmt.Sprint(l.done)
	if l.o.Total > 0 {
		bare = fmt.Sprintf("%d/%d", l.done, l.o.Total)
	}
	for _, text := range []string{bare, l.share()} {
		if len(text) <= width {
			return text
		}
	}
	return ""
}

func (l *Line) count() string {
	if l.o.Total <= 0 {
		return fmt.Sprintf("%d %s", l.done, l.unit(fmt.Sprint(l.done)))
	}
	return fmt.Sprintf("%d/%d %s", l.done, l.o.Total, l.o.Unit)
}

func (l *Line) share() string {
	if l.o.Total <= 0 {
		return ""
	}
	return fmt.Sprintf("%.0f%%", math.Floor(100*float64(l.done)/float64(l.o.Total)))
}

// unit is what is counted, in the singular where there is one.
func (l *Line) unit(n string) string {
	if n == "1" {
		return strings.TrimSuffix(l.o.Unit, "s")
	}
	return l.o.Unit
}

// rate is what was done per second since the older mark.
func (l *Line) rate(now time.Time) float64 {
	seconds := now.Sub(l.marks[0].at).Seconds()
	if seconds <= 0 {
		return 0
	}
	return float64(l.done-l.marks[0].done) / seconds
}

// pace is a rate in words: things a second or, of slow ones, seconds a thing.
func (l *Line) pace(rate float64) string {
	if rate < 1 {
		return number(1/rate) + " s a " + l.unit("1")
	}
	n := number(rate)
	return n + " " + l.unit(n) + "/s"
}

// number writes three digits: 0.0123, 4.56, 789, 12.3k.
func number(x float64) string {
	for _, s := range []struct {
		unit string
		size float64
	}{{"G", 1e9}, {"M", 1e6}, {"k", 1e3}} {
		if x >= s.size {
			return fmt.Sprintf("%.3g%s", min(x/s.size, 999), s.unit)
		}
	}
	return fmt.Sprintf("%.3g", min(x, 999))
}

// span writes seconds as a time to one second: 9s, 1m05s, 2h03m.
func span(seconds float64) string {
	s := int64(min(math.Round(seconds), 1e9))
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	}
	return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
}

// paint makes the title bold.
func (l *Line) paint(text string) string {
	rest, ok := strings.CutPrefix(text, l.o.Title)
	if !l.o.Color || !ok || l.o.Title == "" {
		return text
	}
	return "\x1b[1m" + l.o.Title + "\x1b[0m" + rest
}
