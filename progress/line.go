package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// How often a line is drawn on a terminal and written elsewhere, and over how long a rate is taken.
const (
	liveEvery  = 100 * time.Millisecond
	plainEvery = 10 * time.Second
	rateSpan   = 10 * time.Second
)

// Options say what a Line shows and where. Now must be set.
type Options struct {
	Title string           // what is going on
	Unit  string           // what is counted, in the plural
	Total int64            // 0: not known, so neither share nor time left
	Live  bool             // the writer is a terminal
	Color bool             // escape codes for colour are welcome (a terminal, and NO_COLOR is not set)
	Quiet bool             // show nothing; Write still passes through
	Width func() int       // columns of the terminal as it is now; nil, and 0 for not known, mean 80
	Now   func() time.Time // the clock
}

// A Line is the progress of one piece of work. Its methods may be called from several goroutines.
type Line struct {
	w io.Writer
	o Options

	mu       sync.Mutex
	start    time.Time
	drawn    time.Time // when the line was last shown
	shown    int       // lines that stand on the terminal
	finished bool
	done     int64
	note     string
	under    []Row
	marks    [2]mark // two moments of which the older is rateSpan to 2 rateSpan old, once that much time has passed
}

type mark struct {
	at   time.Time
	done int64
}

// New returns a Line that begins now, with nothing done.
func New(w io.Writer, o Options) *Line {
	now := o.Now()
	m := mark{at: now}
	return &Line{w: w, o: o, start: now, drawn: now, marks: [2]mark{m, m}}
}

// Set says how much is done in all, and in a few words what there is to know beside it.
func (l *Line) Set(done int64, note string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.finished {
		return
	}
	now := l.o.Now()
	l.done, l.note = done, note
	if now.Sub(l.marks[1].at) >= rateSpan {
		l.marks = [2]mark{l.marks[1], {now, done}}
	}
	every := plainEvery
	if l.o.Live {
		every = liveEvery
	}
	if now.Sub(l.drawn) >= every {
		l.draw(now)
	}
}

// Under says what stands in rows of their own below the line, on a terminal only.
func (l *Line) Under(rows ...Row) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.under = rows
}

// Finish shows the last state for good. Later calls do nothing.
func (l *Line) Finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.finished || l.o.Quiet {
		return
	}
	l.finished = true
	l.erase()
	io.WriteString(l.w, l.last(l.o.Now(), l.room())+"\n")
}

// Write passes p on to the writer, above the line if one stands there. p should end in a line break.
func (l *Line) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	stood := l.shown > 0
	l.erase()
	n, err := l.w.Write(p)
	if stood {
		l.draw(l.o.Now())
	}
	return n, err
}

func (l *Line) draw(now time.Time) {
	if l.o.Quiet {
		return
	}
	l.drawn = now
	if !l.o.Live {
		io.WriteString(l.w, l.text(now, l.room())+"\n")
		return
	}
	var b strings.Builder
	b.WriteString(l.up() + l.paint(l.text(now, l.room())) + "\x1b[K")
	for _, r := range l.under {
		b.WriteString("\r\n" + r.text(l.room()) + "\x1b[K")
	}
	if now := 1 + len(l.under); now < l.shown {
		b.WriteString(strings.Repeat("\r\n\x1b[K", l.shown-now) + fmt.Sprintf("\x1b[%dA", l.shown-now))
	}
	l.shown = 1 + len(l.under)
	io.WriteString(l.w, b.String())
}

// room is how many columns a line may have: on a terminal one less than there are, for some break a line that fills them all; elsewhere 0, any.
func (l *Line) room() int {
	if !l.o.Live {
		return 0
	}
	columns := 0
	if l.o.Width != nil {
		columns = l.o.Width()
	}
	if columns <= 0 {
		columns = 80
	}
	return max(1, columns-1)
}

// up moves to the beginning of the first line that stands.
func (l *Line) up() string {
	if l.shown < 2 {
		return "\r"
	}
	return fmt.Sprintf("\r\x1b[%dA", l.shown-1)
}

func (l *Line) erase() {
	if l.shown > 0 {
		io.WriteString(l.w, l.up()+"\x1b[J")
		l.shown = 0
	}
}
