package dash

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"furlong/dash/api"
	"furlong/dash/store"
	"furlong/nearest"
	"furlong/verdict"
)

// A query reads what a request asks for, and remembers the first thing that it asks wrongly.
type query struct {
	r   *http.Request
	v   url.Values
	err error
}

// newQuery reads the query of a request that may ask for the names in known, each once. Another name is a mistake that would else pass for an answer.
func newQuery(r *http.Request, known ...string) *query {
	v, err := url.ParseQuery(r.URL.RawQuery)
	q := &query{r: r, v: v}
	if err != nil {
		q.bad("query can't be read: %v", err)
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		switch {
		case !slices.Contains(known, name):
			q.bad("%.40q is nothing that can be asked here", name)
			q.hint(nearest.Name(name, known), known)
		case len(v[name]) > 1:
			q.bad("%s is given %d times, want once", name, len(v[name]))
		}
	}
	return q
}

// hint adds what was probably meant, and what else there is, to a mistake that has none.
func (q *query) hint(meant string, known []string) {
	var a *store.Asked
	if !errors.As(q.err, &a) || a.Reply.Hint != "" {
		return
	}
	switch {
	case meant != "":
		a.Reply.Hint = "did you mean " + meant + "?"
	case len(known) > 0:
		a.Reply.Hint = "there are " + strings.Join(known, ", ")
	}
}

func (q *query) bad(format string, args ...any) {
	if q.err == nil {
		q.err = &store.Asked{Status: store.Wrong, Reply: api.Error{Error: fmt.Sprintf(format, args...)}}
	}
}

func (q *query) text(name string) string { return q.v.Get(name) }

// one reads a word that must be one of those allowed, the first of which stands for none.
func (q *query) one(name string, allowed ...string) string {
	s := q.v.Get(name)
	if s == "" {
		return allowed[0]
	}
	if !slices.Contains(allowed, s) {
		q.bad("%s is %.40q, want %s", name, s, strings.Join(allowed, " or "))
	}
	return s
}

// within reads a whole number from least to most; without one it is absent.
func (q *query) within(name string, absent, least, most int) int {
	if q.v.Get(name) == "" {
		return absent
	}
	n := q.whole(name, absent)
	if n < least || n > most {
		q.bad("%s is %d, want %s to %s", name, n, verdict.Count(float64(least)), verdict.Count(float64(most)))
	}
	return n
}

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

// maxAverage is over how many rows an average may go.
const maxAverage = 10_000

// ask reads which rows are wanted.
func (q *query) ask() (store.Ask, error) {
	a := store.Ask{Keys: q.keys("keys"), X: q.text("x"), From: q.number("from"), To: q.number("to"), Pixels: q.within("px", 0, 0, maxPixels), Fit: q.keys("fit")}
	if a.From > a.To {
		q.bad("from is %v and to is %v, want from first", a.From, a.To)
	}
	if q.text("avg") == "auto" {
		a.Average = -1
	} else if a.Average = q.whole("avg", 0); a.Average < 0 || a.Average > maxAverage {
		q.bad("avg is %d, want auto, or 0 to %s", a.Average, verdict.Count(maxAverage))
	}
	if len(a.Fit) == 1 && a.Fit[0] == "all" {
		a.Fit = a.Keys
	}
	for _, k := range a.Fit {
		if !slices.Contains(a.Keys, k) {
			q.bad("fit names %.80q, which keys does not", k)
		}
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
