package progress

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// text is the line as it stands while the work goes on.
func (l *Line) text(now time.Time) string {
	parts := []string{l.o.Title, l.count()}
	rate := l.rate(now)
	if rate > 0 {
		parts = append(parts, l.pace(rate))
	}
	if left := float64(l.o.Total - l.done); rate > 0 && left > 0 {
		parts = append(parts, span(left/rate)+" left")
	}
	return strings.Join(append(parts, l.words()...), "  ")
}

// last is the line at the end: the rate of the whole, and how long it took.
func (l *Line) last(now time.Time) string {
	parts := []string{l.o.Title, l.count()}
	took := now.Sub(l.start).Seconds()
	if took > 0 && l.done > 0 {
		parts = append(parts, l.pace(float64(l.done)/took))
	}
	parts = append(parts, "took "+span(took))
	return strings.Join(append(parts, l.words()...), "  ")
}

func (l *Line) words() []string {
	if l.note == "" {
		return nil
	}
	return []string{l.note}
}

func (l *Line) count() string {
	if l.o.Total <= 0 {
		return fmt.Sprintf("%d %s", l.done, l.o.Unit)
	}
	return fmt.Sprintf("%d/%d %s  %.0f%%", l.done, l.o.Total, l.o.Unit, math.Floor(100*float64(l.done)/float64(l.o.Total)))
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
		return number(1/rate) + " s a " + strings.TrimSuffix(l.o.Unit, "s")
	}
	return number(rate) + " " + l.o.Unit + "/s"
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

// clip shortens text to n letters.
func clip(text string, n int) string {
	r := []rune(text)
	if len(r) <= n {
		return text
	}
	return string(r[:max(0, n)])
}

// paint makes the title bold.
func (l *Line) paint(text string) string {
	rest, ok := strings.CutPrefix(text, l.o.Title)
	if !l.o.Color || !ok || l.o.Title == "" {
		return text
	}
	return "\x1b[1m" + l.o.Title + "\x1b[0m" + rest
}
