package dash

import (
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"furlong/dash/api"
	"furlong/dash/store"
)

// A query reads what a request asks for, and remembers the first thing that it asks wrongly.
type query struct {
	r   *http.Request
	v   url.Values
	err error
}

func newQuery(r *http.Request) *query {
	v, err := url.ParseQuery(r.URL.RawQuery)
	q := &query{r: r, v: v}
	if err != nil {
		q.bad("query can't be read: %v", err)
	}
	return q
}

func (q *query) bad(format string, args ...any) {
	if q.err == nil {
		q.err = &store.Asked{Status: store.Wrong, Reply: api.Error{Error: fmt.Sprintf(format, args...)}}
	}
}

func (q *query) text(name string) string { return q.v.Get(name) }

// whole reads a whole number; without one it is absent.
func (q *query) whole(name string, absent int) int {
	s := q.v.Get(name)
	if s == "" {
		return absent
	}
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		q.bad("%s is %.40q, want a whole number", name, s)
	}
	return int(n)
}

// path reads a whole number from the path.
func (q *query) path(name string) int {
	n, err := strconv.ParseUint(q.r.PathValue(name), 10, 32)
	if err != nil {
		q.bad("%s is %.40q, want a whole number from 0", name, q.r.PathValue(name))
	}
	return int(n)
}

func (q *query) cycle() int {
	n := q.path("cycle")
	if n > math.MaxInt32 {
		q.bad("cycle is %d, want at most %d", n, math.MaxInt32)
		return 0
	}
	return n
}

// number reads a number; without one it is NaN.
func (q *query) number(name string) float64 {
	s := q.v.Get(name)
	if s == "" {
		return math.NaN()
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) {
		q.bad("%s is %.40q, want a number", name, s)
	}
	return v
}

func (q *query) offset(name string) *int64 {
	s := q.v.Get(name)
	if s == "" {
		return nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		q.bad("%s is %.40q, want an offset", name, s)
	}
	return &n
}

func (q *query) level() slog.Level {
	l := slog.Level(math.MinInt32)
	if s := q.v.Get("level"); s != "" {
		if err := l.UnmarshalText([]byte(s)); err != nil {
			q.bad("level is %.40q, want DEBUG, INFO, WARN or ERROR", s)
		}
	}
	return l
}

// keys reads a list of series. A comma within a name is sent as %2C.
func (q *query) keys(name string) []string {
	var out []string
	for part := range strings.SplitSeq(q.v.Get(name), ",") {
		if key, err := url.QueryUnescape(strings.ReplaceAll(part, "+", "%2B")); err == nil && key != "" {
			out = append(out, key)
		} else if err != nil {
			out = append(out, part) // a name with a percent sign of its own
		}
	}
	return out
}

// maxPixels is how wide a plot may be.
const maxPixels = 4000

// ask reads which rows are wanted.
func (q *query) ask() (store.Ask, error) {
	a := store.Ask{Keys: q.keys("keys"), X: q.text("x"), From: q.number("from"), To: q.number("to"), Pixels: q.whole("px", 0), Fit: q.keys("fit")}
	if a.Pixels < 0 || a.Pixels > maxPixels {
		q.bad("px is %d, want at most %d", a.Pixels, maxPixels)
	}
	if q.text("avg") == "auto" {
		a.Average = -1
	} else if a.Average = q.whole("avg", 0); a.Average < 0 || a.Average > 10_000 {
		q.bad("avg is %d, want auto, or 0 to 10,000", a.Average)
	}
	if len(a.Fit) == 1 && a.Fit[0] == "all" {
		a.Fit = a.Keys
	}
	return a, q.err
}

// place reads 37/1193/5 or 37/1193/5/1207.
func (q *query) place(name string) store.NextAsk {
	parts := strings.Split(q.text(name), "/")
	n := [4]int{0, 0, 0, -1}
	if len(parts) != 3 && len(parts) != 4 {
		q.bad("%s is %.60q, want cycle/group/sample or cycle/group/sample/token", name, q.text(name))
		return store.NextAsk{}
	}
	for i, p := range parts {
		v, err := strconv.ParseUint(p, 10, 31)
		if err != nil {
			q.bad("%s is %.60q, want whole numbers", name, q.text(name))
		}
		n[i] = int(v)
	}
	return store.NextAsk{At: store.SampleID{Cycle: n[0], Group: uint32(n[1]), Slot: n[2]}, Pos: n[3]}
}
