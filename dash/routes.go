package dash

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"

	"furlong/dash/api"
	"furlong/dash/store"
)

// A route is a path below that of a run, the names that its query may have, and what answers it.
type route struct {
	path  string
	known []string
	of    func(*store.Run, *query) (any, error)
}

var ofRun = []route{
	{"head", []string{"keys"}, func(r *store.Run, q *query) (any, error) { return r.Head(q.one("keys", "1", "0") == "1") }},
	{"cycle/{cycle}", []string{"key"}, func(r *store.Run, q *query) (any, error) { return r.Cycle(q.cycle(), q.text("key")) }},
	{"samples", []string{"q", "sort", "limit", "after", "text"}, samples},
	{"group/{cycle}/{group}", []string{"eval"}, group},
	{"sample/{cycle}/{group}/{id}", []string{"eval", "from", "to"}, inspect},
	{"next", []string{"by", "dir", "at", "in", "eval"}, next},
	{"evals", nil, func(r *store.Run, _ *query) (any, error) { return r.Evals() }},
	{"evals/{name}", []string{"a", "b", "k"}, eval},
	{"experts", []string{"c", "layer"}, experts},
	{"config", nil, func(r *store.Run, _ *query) (any, error) { return r.Config() }},
	{"log", []string{"level", "after", "before", "limit", "q"}, logs},
}

// What the queries of the other routes may have.
var (
	rowsNames    = []string{"keys", "x", "from", "to", "px", "avg", "fit", "format"}
	compareNames = []string{"a", "b", "keys", "x", "from", "to", "px", "avg", "fit"}
	runsNames    = []string{"after", "limit"}
	timeNames    = []string{"format"}
	eventsNames  = []string{"from"}
)

// routes ties paths to answers.
func (s *Server) routes() {
	for _, p := range []string{"GET /{$}", "GET /compare", "GET /r/{run}", "GET /r/{run}/{rest...}"} {
		s.mux.HandleFunc(p, index)
	}
	s.mux.HandleFunc("GET /assets/{name...}", asset)
	s.handle("/api/runs", runsNames, func(q *query) (any, error) {
		return s.o.Shelf.List(q.text("after"), q.within("limit", 2000, 1, 5000))
	})
	s.handle("/api/compare", compareNames, s.compare)
	for _, r := range ofRun {
		s.handle("/api/r/{run}/"+r.path, r.known, s.with(r.of))
	}
	s.mux.HandleFunc("GET /api/r/{run}/rows", s.rows)
	s.mux.HandleFunc("GET /api/r/{run}/time/{cycle}", s.time)
	s.mux.HandleFunc("GET /api/r/{run}/events", s.events)
	s.mux.HandleFunc("/api/", func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusNotFound, api.Error{Error: "there is no such answer", Hint: "docs/formats/dash-api.md lists them"})
	})
	s.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
}

// handle answers a path with what of returns, as JSON.
func (s *Server) handle(path string, known []string, of func(*query) (any, error)) {
	s.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		v, err := answer(newQuery(r, known...), of)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		write(w, http.StatusOK, v)
	})
}

// answer returns what of says to a query, unless that asks wrongly.
func answer(q *query, of func(*query) (any, error)) (any, error) {
	if q.err != nil {
		return nil, q.err
	}
	v, err := of(q)
	if q.err != nil {
		return nil, q.err // what was asked wrongly comes before what came of it
	}
	return v, err
}

// with calls of with the run of the path.
func (s *Server) with(of func(*store.Run, *query) (any, error)) func(*query) (any, error) {
	return func(q *query) (v any, err error) {
		used := s.o.Shelf.Use(q.r.PathValue("run"), func(r *store.Run) error {
			v, err = of(r, q)
			return nil
		})
		if used != nil {
			return nil, used
		}
		return v, err
	}
}

func (s *Server) compare(q *query) (v any, err error) {
	ask, err := q.ask()
	for _, name := range []string{"a", "b"} {
		if q.text(name) == "" {
			q.bad("%s is missing, want the name of a run", name)
		}
	}
	if err = cmp.Or(err, q.err); err != nil {
		return nil, err
	}
	used := s.o.Shelf.Use(q.text("a"), func(a *store.Run) error {
		return s.o.Shelf.Use(q.text("b"), func(b *store.Run) error {
			v, err = store.Compare(a, b, ask)
			return nil
		})
	})
	if used != nil {
		return nil, used
	}
	return v, err
}

// rows answers rows, as JSON or as a table of text.
func (s *Server) rows(w http.ResponseWriter, r *http.Request) {
	q := newQuery(r, rowsNames...)
	format := q.one("format", "json", "csv")
	v, err := answer(q, s.with(func(run *store.Run, q *query) (any, error) {
		ask, err := q.ask()
		if err != nil {
			return nil, err
		}
		return run.Rows(ask)
	}))
	switch {
	case err != nil:
		s.fail(w, r, err)
	case format == "csv":
		table(w, q.keys("keys"), v.(*api.Rows))
	default:
		write(w, http.StatusOK, v)
	}
}

// table writes rows as comma-separated values.
func table(w http.ResponseWriter, keys []string, rows *api.Rows) {
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="rows.csv"`)
	out := csv.NewWriter(w)
	_ = out.Write(append([]string{"cycle", "attempt", "x"}, keys...)) // who has gone does not read; so it is below
	for i, c := range rows.Cycle {
		line := []string{fmt.Sprint(c), fmt.Sprint(rows.Attempt[i]), string(rows.X[i])}
		for _, k := range keys {
			line = append(line, strings.Trim(string(rows.Cols[k][i]), `"`))
		}
		_ = out.Write(line)
	}
	out.Flush()
}

// time answers a cycle's lanes, or the same for other programs to show.
func (s *Server) time(w http.ResponseWriter, r *http.Request) {
	q := newQuery(r, timeNames...)
	format := q.one("format", "json", "trace")
	v, err := answer(q, s.with(func(run *store.Run, q *query) (any, error) { return run.Time(q.cycle()) }))
	if err == nil && format == "trace" {
		var b []byte
		if b, err = store.Trace(v.(*api.Time)); err == nil {
			w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="cycle-%d.json"`, q.cycle()))
			v = json.RawMessage(b)
		}
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	write(w, http.StatusOK, v)
}

func samples(r *store.Run, q *query) (any, error) {
	return r.Samples(store.SampleAsk{Q: q.text("q"), Sort: q.text("sort"), Limit: q.within("limit", 100, 1, maxLimit), After: q.text("after"), Text: q.one("text", "0", "1") == "1"})
}

func group(r *store.Run, q *query) (any, error) {
	return r.Group(q.cycle(), uint32(q.path("group")), q.text("eval"))
}

func inspect(r *store.Run, q *query) (any, error) {
	id := store.SampleID{Cycle: q.cycle(), Group: uint32(q.path("group")), Slot: q.path("id"), Eval: q.text("eval")}
	from, to := q.within("from", 0, 0, math.MaxInt32), q.within("to", -1, 0, math.MaxInt32)
	if to >= 0 && from > to {
		q.bad("from is %d and to is %d, want from first", from, to)
	}
	if q.err != nil {
		return nil, q.err
	}
	return r.Inspect(id, from, to)
}

func next(r *store.Run, q *query) (any, error) {
	q.one("by", "gap")
	a := q.place("at")
	a.At.Eval = q.text("eval")
	a.Among = q.one("in", "sample", "group", "cycle")
	a.Up = q.one("dir", "1", "-1") == "-1"
	if q.err != nil {
		return nil, q.err
	}
	return r.Next(a)
}

func eval(r *store.Run, q *query) (any, error) {
	a := store.EvalAsk{Name: q.r.PathValue("name"), A: q.within("a", -1, 0, math.MaxInt32), B: q.within("b", -1, 0, math.MaxInt32), K: q.within("k", 1, 1, math.MaxInt32)}
	if (a.A < 0) != (a.B < 0) {
		q.bad("a and b are the cycles to compare, want both or none")
	}
	if q.err != nil {
		return nil, q.err
	}
	return r.Eval(a)
}

func experts(r *store.Run, q *query) (any, error) {
	c, layer := q.within("c", -1, 0, math.MaxInt32), q.within("layer", -1, 0, math.MaxInt32)
	if q.err != nil {
		return nil, q.err
	}
	return r.Experts(c, layer)
}

// maxLimit is how many samples or lines one answer has at most.
const maxLimit = 1000

func logs(r *store.Run, q *query) (any, error) {
	a := store.LogAsk{Level: q.level(), After: q.offset("after"), Before: q.offset("before"), Limit: q.within("limit", 200, 1, maxLimit), Q: q.text("q")}
	if a.After != nil && a.Before != nil {
		q.bad("after and before are both given, want one")
	}
	if q.err != nil {
		return nil, q.err
	}
	return r.Log(a)
}
