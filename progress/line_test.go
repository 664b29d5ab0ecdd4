package progress

import (
	"bytes"
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// clock is a clock that moves when it is told.
type clock struct{ now time.Time }

func (c *clock) read() time.Time           { return c.now }
func (c *clock) advance(d time.Duration)   { c.now = c.now.Add(d) }
func (c *clock) options(o Options) Options { o.Now = c.read; return o }

func TestPlain(t *testing.T) {
	var c clock
	var b bytes.Buffer
	l := New(&b, c.options(Options{Title: "train", Unit: "cycles", Total: 100}))
	for i := range 25 { // 25 cycles of a second each
		c.advance(time.Second)
		l.Set(int64(i+1), "reward 0.5")
	}
	l.Finish()
	l.Finish()
	l.Set(99, "after the end")
	want := strings.Join([]string{
		"train  10/100 cycles  10%  1 cycle/s  1m30s left  reward 0.5",
		"train  20/100 cycles  20%  1 cycle/s  1m20s left  reward 0.5",
		"train  25/100 cycles  25%  1 cycle/s  took 25s  reward 0.5",
		"",
	}, "\n")
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestLive(t *testing.T) {
	var c clock
	var b bytes.Buffer
	l := New(&b, c.options(Options{Title: "sft", Unit: "tokens", Total: 2000, Live: true, Color: true, Width: columns(48)}))
	c.advance(50 * time.Millisecond)
	l.Set(1, "too soon")
	c.advance(950 * time.Millisecond)
	l.Set(1000, "loss 1.25")
	if _, err := io.WriteString(l, "a log line\n"); err != nil {
		t.Fatal(err)
	}
	c.advance(time.Second)
	l.Finish()
	line := "\r\x1b[1msft\x1b[0m  1000/2000 tokens  1s left  loss 1.25\x1b[K"
	want := line + "\r\x1b[Ja log line\n" + line + "\r\x1b[J" + "sft  1000/2000 tokens  took 2s  loss 1.25\n"
	if b.String() != want {
		t.Errorf("got  %q\nwant %q", b.String(), want)
	}
}

// Without colour there are no colour codes, though the line still moves.
func TestNoColor(t *testing.T) {
	var c clock
	var b bytes.Buffer
	l := New(&b, c.options(Options{Title: "sft", Unit: "tokens", Live: true}))
	c.advance(time.Second)
	l.Set(5, "")
	if got, want := b.String(), "\rsft  5 tokens  5 tokens/s\x1b[K"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestQuiet(t *testing.T) {
	var c clock
	var b bytes.Buffer
	l := New(&b, c.options(Options{Title: "sft", Live: true, Quiet: true}))
	c.advance(time.Hour)
	l.Set(5, "")
	io.WriteString(l, "a log line\n")
	l.Finish()
	if got, want := b.String(), "a log line\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The rate follows the last ten to twenty seconds, so that a slow start does not spoil the time left.
func TestRateForgets(t *testing.T) {
	var c clock
	l := New(io.Discard, c.options(Options{Unit: "steps", Total: 1000}))
	done := int64(0)
	for i := range 60 {
		c.advance(time.Second)
		if i >= 30 {
			done += 10
		}
		l.Set(done, "")
	}
	if got := l.rate(c.now); got != 10 {
		t.Errorf("rate is %v a second, want 10", got)
	}
}

func TestFormats(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{number(0.01234), "0.0123"},
		{number(4.5678), "4.57"},
		{number(789), "789"},
		{number(999.9), "999"},
		{number(12345), "12.3k"},
		{number(2.5e6), "2.5M"},
		{number(7e9), "7G"},
		{span(0.4), "0s"},
		{span(59.6), "1m00s"},
		{span(65), "1m05s"},
		{span(7385), "2h03m"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func Example() {
	now := time.Time{}
	l := New(os.Stdout, Options{Title: "eval", Unit: "problems", Total: 256, Now: func() time.Time { return now }})
	now = now.Add(10 * time.Second)
	l.Set(64, "pass@1 0.33")
	// Output: eval  64/256 problems  25%  6.4 problems/s  30s left  pass@1 0.33
}

// Rows below the line are drawn over in place, and are gone when the line is finished.
func TestUnder(t *testing.T) {
	var c clock
	var b bytes.Buffer
	l := New(&b, c.options(Options{Title: "train", Unit: "cycles", Live: true, Width: columns(20)}))
	show := func(done int64, under ...Row) string {
		b.Reset()
		c.advance(time.Second)
		l.Under(under...)
		l.Set(done, "")
		return b.String()
	}
	for _, tt := range []struct {
		under []Row
		want  string
	}{
		{[]Row{{Name: "reward"}, {Name: "gap", Note: "at 0.1"}}, "\rtrain  1 cycle\x1b[K\r\n  reward" + strings.Repeat(" ", 11) + "\x1b[K\r\n  gap      at 0.1\x1b[K"},
		{[]Row{{Name: "reward", Values: []float64{1, 2}}}, "\r\x1b[2Atrain  2 cycles\x1b[K\r\n  reward  ▁█" + strings.Repeat(" ", 7) + "\x1b[K\r\n\x1b[K\x1b[1A"},
		{nil, "\r\x1b[1Atrain  3 cycles\x1b[K\r\n\x1b[K\x1b[1A"},
	} {
		if got := show(l.done+1, tt.under...); got != tt.want {
			t.Errorf("got  %q\nwant %q", got, tt.want)
		}
	}
	show(1, Row{Name: "reward"})
	b.Reset()
	io.WriteString(l, "a log line\n")
	if got := b.String(); !strings.HasPrefix(got, "\r\x1b[1A\x1b[Ja log line\n\rtrain") || !strings.Contains(got, "\r\n  reward") {
		t.Errorf("a log line is written as %q", got)
	}
	b.Reset()
	l.Finish()
	if got := b.String(); !strings.HasPrefix(got, "\r\x1b[1A\x1b[J1 cycle  took 4s") || strings.Contains(got, "reward") {
		t.Errorf("the end is %q", got)
	}
}

func columns(n int) func() int { return func() int { return n } }

// What a narrow terminal has no room for is left out whole, the least needed first.
func TestWidths(t *testing.T) {
	const note = "reward 0.512  gap 0  len 23  rollout"
	for _, tt := range []struct {
		width int
		want  string
	}{
		{120, "train  12/100 cycles  12%  3.42 s a cycle  5m01s left  reward 0.512  gap 0  len 23  rollout"},
		{80, "train  12/100 cycles  12%  3.42 s a cycle  5m01s left  reward 0.512  gap 0"},
		{60, "train  12/100 cycles  5m01s left  reward 0.512"},
		{47, "train  12/100 cycles  5m01s left  reward 0.512"},
		{46, "12/100 cycles  5m01s left  reward 0.512"},
		{40, "12/100 cycles  5m01s left  reward 0.512"},
		{39, "12/100 cycles  5m01s left"},
		{20, "12/100 cycles"},
		{10, "12/100"},
		{5, "12%"},
		{3, ""},
	} {
		var c clock
		var b bytes.Buffer
		l := New(&b, c.options(Options{Title: "train", Unit: "cycles", Total: 100, Live: true, Width: columns(tt.width)}))
		c.advance(41 * time.Second)
		l.Set(12, note)
		if got, want := b.String(), "\r"+tt.want+"\x1b[K"; got != want {
			t.Errorf("%d columns: got  %q\nwant %q", tt.width, got, want)
		}
	}
}

// Whatever the width, each row and line fits, and all its numbers are whole.
func TestNoNumberIsCut(t *testing.T) {
	whole := map[string]bool{}
	pieces := func(s string) []string {
		return strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '\r' || r == '\n' })
	}
	var c clock
	l := New(io.Discard, c.options(Options{Title: "train", Unit: "cycles", Total: 12345, Live: true}))
	c.advance(time.Hour)
	l.Set(4321, "reward 0.512  gap 0.0123  len 23")
	row := Row{Name: "reward", Values: []float64{1, 2, 3}, Note: "average 0.375"}
	for _, w := range pieces(l.text(c.now, 0) + " " + l.last(c.now, 0) + " " + row.text(200) + " 4321/12345") {
		whole[w] = true
	}
	for width := 1; width <= 130; width++ {
		for _, text := range []string{l.text(c.now, width), l.last(c.now, width), row.text(width)} {
			if n := utf8.RuneCountInString(text); n > width {
				t.Errorf("%d columns: %q has %d", width, text, n)
			}
			for _, w := range pieces(text) {
				if !whole[w] && !strings.ContainsAny(w, "▁▂▃▄▅▆▇█") {
					t.Errorf("%d columns: %q has the piece %q", width, text, w)
				}
			}
		}
	}
}

// A terminal that is made narrower gets a narrower line at the next drawing.
func TestWidthIsAskedAnew(t *testing.T) {
	var c clock
	var b bytes.Buffer
	now := 80
	l := New(&b, c.options(Options{Title: "train", Unit: "cycles", Total: 100, Live: true, Width: func() int { return now }}))
	for _, tt := range []struct {
		width int
		want  string
	}{{80, "train  1/100 cycles  1%  1 cycle/s  1m39s left"}, {20, "1/100 cycles"}, {0, "train  1/100 cycles  1%"}} {
		now = tt.width
		b.Reset()
		c.advance(time.Second)
		if l.Set(1, ""); !strings.HasPrefix(b.String(), "\r"+tt.want) {
			t.Errorf("%d columns: %q, want %q", tt.width, b.String(), tt.want)
		}
	}
}

func TestSpark(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, tt := range []struct {
		values []float64
		width  int
		want   string
	}{
		{nil, 5, ""},
		{[]float64{0, 0, 0}, 5, "▁▁▁"},
		{[]float64{0, 1, nan, 7, inf}, 5, "▁▂ █ "},
		{[]float64{0, 0, 9, 0, 0, 0}, 3, "▁█▁"},
		{[]float64{nan, nan, 1, 2}, 2, " ▁"},
		{[]float64{-math.MaxFloat64, math.MaxFloat64}, 2, "▁█"},
	} {
		if got := Spark(tt.values, tt.width); got != tt.want {
			t.Errorf("%v in %d: %q, want %q", tt.values, tt.width, got, tt.want)
		}
	}
}
