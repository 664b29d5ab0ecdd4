package verdict

import (
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"furlong/rl"
)

func TestNumbers(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{Count(0), "0"},
		{Count(999), "999"},
		{Count(12345), "12,345"},
		{Count(1204331), "1,204,331"},
		{Count(-1234), "−1,234"},
		{Reward(0), "0"},
		{Reward(0.456), "0.46"},
		{Reward(0.001), "0.00"},
		{Reward(-0.5), "−0.50"},
		{Reward(math.NaN()), "not a number"},
		{Table(0.4567), "0.457"},
		{Table(0.0001), "0.000"},
		{Table(math.Inf(-1)), "−∞"},
		{Nats(0), "0"},
		{Nats(0.08912), "0.0891"},
		{Nats(4.6), "4.60"},
		{Nats(11.427), "11.4"},
		{Nats(1.4e-5), "1.40e−5"},
		{Nats(0.99996), "1.00"},
		{Nats(-0.218), "−0.218"},
		{Share(0), "0 %"},
		{Share(0.55), "55 %"},
		{Share(0.004), "0.40 %"},
		{Share(0.00996), "1 %"},
		{Share(1), "100 %"},
		{Share(0.99999), "99.99 %"},
		{Share(0.0000001), "1.0e−5 %"},
		{Rate(18300), "18.3k"},
		{Rate(999), "999"},
		{Rate(999.7), "1.00k"},
		{Rate(2.5e6), "2.50M"},
		{Rate(0), "0"},
		{Bytes(999), "999 bytes"},
		{Bytes(1.6e9), "1.6 GB"},
		{Bytes(48213), "48 KB"},
		{Seconds(0), "0 s"},
		{Seconds(4.27), "4.3 s"},
		{Seconds(41), "41 s"},
		{Seconds(59.7), "1 min 00 s"},
		{Seconds(125), "2 min 05 s"},
		{Seconds(3*3600 + 12*60), "3 h 12 min"},
		{Seconds(200000), "2 d 07 h"},
		{Seconds(math.NaN()), "–"},
		{About(615), "10 min"},
		{About(41), "41 s"},
		{About(85), "1 min 25 s"},
		{Interval(0.1, 0.04, 0.16, 2), "+0.10 [+0.04, +0.16]"},
		{Interval(-0.001, -0.2, 0.001, 2), "0.00 [−0.20, 0.00]"},
		{Version(rl.NewVersion(0, 37)), "v37"},
		{Version(rl.NewVersion(1, 37)), "2·v37"},
		{Clock(noon, noon), "12:00"},
		{Clock(noon.Add(-24*time.Hour), noon), "3 March 12:00"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"plain, äöü 中 🙂":                      "plain, äöü 中 🙂",
		"a\x1b[31m\u202eb\u2066":              "aU+001B[31mU+202EbU+2066",
		"nul\x00\u2028":                       "nulU+0000U+2028",
		"bad \xe2\x80 x\xff":                  "bad ⟨E2 80⟩ x⟨FF⟩",
		"\ufffd":                              "\ufffd",
		"e\u0301":                             "e\u0301",
		"x" + strings.Repeat("\u0301", 10000): "x" + strings.Repeat("\u0301", 4) + "⟨9996 marks⟩",
		"zero\u200bwidth\ufeff":               "zeroU+200BwidthU+FEFF",
	} {
		if got := Visible(in); got != want {
			t.Errorf("%.40q is %q, want %q", in, got, want)
		}
	}
	if got := Short("äöüß", 2); got != "äö…" || Short("äö", 2) != "äö" {
		t.Errorf("short: %q", got)
	}
}

// Whatever comes in, what comes out is clean and stays so.
func FuzzVisible(f *testing.F) {
	f.Add("a\x00\xff\u202e")
	f.Fuzz(func(t *testing.T, in string) {
		out := Visible(in)
		if !utf8.ValidString(out) || Visible(out) != out {
			t.Errorf("%q gives %q", in, out)
		}
		for _, r := range out {
			if Hidden(r) {
				t.Errorf("%q gives %q, in which %U is hidden", in, out, r)
			}
		}
	})
}
