package progress

import (
	"bytes"
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"time"
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
		"train  10/100 cycles  10%  1 cycles/s  1m30s left  reward 0.5",
		"train  20/100 cycles  20%  1 cycles/s  1m20s left  reward 0.5",
		"train  25/100 cycles  25%  1 cycles/s  took 25s  reward 0.5",
		"",
	}, "\n")
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestLive(t *testing.T) {
	var c clock
	var b bytes.Buffer
	l := New(&b, c.options(Options{Title: "sft", Unit: "tokens", Total: 2000, Live: true, Color: true, Width: 48}))
	c.advance(50 * time.Millisecond)
	l.Set(1, "too soon")
	c.advance(950 * time.Millisecond)
	l.Set(1000, "loss 1.25")
	if _, err := io.WriteString(l, "a log line\n"); err != nil {
		t.Fatal(err)
	}
	c.advance(time.Second)
	l.Finish()
	line := "\r\x1b[1msft\x1b[0m  1000/2000 tokens  50%  1k tokens/s  1s lef\x1b[K"
	want := line + "\r\x1b[Ja log line\n" + line + "\r\x1b[J" + "sft  1000/2000 tokens  50%  500 tokens/s  took 2s  loss 1.25\n"
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
		{clip("äöü", 2), "äö"},
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

// Lines below the line are drawn over in place, and are gone when the line is finished.
func TestUnder(t *testing.T) {
	var c clock
	var b bytes.Buffer
	l := New(&b, c.options(Options{Title: "train", Unit: "cycles", Live: true, Width: 20}))
	show := func(done int64, under ...string) string {
		b.Reset()
		c.advance(time.Second)
		l.Under(under...)
		l.Set(done, "")
		return b.String()
	}
	const line = "train  1 cycles  1 c\x1b[K"
	for _, tt := range []struct {
		under []string
		want  string
	}{
		{[]string{"reward", "gap"}, "\r" + line[:len(line)-4] + "\x1b[K\r\nreward\x1b[K\r\ngap\x1b[K"},
		{[]string{"reward and more than fits"}, "\r\x1b[2A" + "train  1 cycles  2 " + "\x1b[K\r\nreward and more tha\x1b[K\r\n\x1b[K\x1b[1A"},
		{nil, "\r\x1b[1A" + "train  1 cycles  3 " + "\x1b[K\r\n\x1b[K\x1b[1A"},
	} {
		if got := show(1, tt.under...); got != tt.want {
			t.Errorf("got  %q\nwant %q", got, tt.want)
		}
	}
	show(1, "reward")
	b.Reset()
	io.WriteString(l, "a log line\n")
	if got := b.String(); !strings.HasPrefix(got, "\r\x1b[1A\x1b[Ja log line\n\rtrain") || !strings.HasSuffix(got, "\r\nreward\x1b[K") {
		t.Errorf("a log line is written as %q", got)
	}
	b.Reset()
	l.Finish()
	if got := b.String(); !strings.HasPrefix(got, "\r\x1b[1A\x1b[Jtrain") || strings.Contains(got, "reward") {
		t.Errorf("the end is %q", got)
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
