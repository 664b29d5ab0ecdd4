package dash

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"furlong/dash/api"
	"furlong/dash/store"
)

// routes ties paths to answers.
func (s *Server) routes() {
	for _, p := range []string{"GET /{$}", "GET /compare", "GET /r/{run}", "GET /r/{run}/{rest...}"} {
		s.mux.HandleFunc(p, index)
	}
	s.mux.HandleFunc("GET /assets/{name...}", asset)
	s.handle("/api/runs", func(q *query) (any, error) { return s.o.Shelf.List(q.text("after"), q.whole("limit", 2000)) })
	s.handle("/api/compare", s.compare)
	for path, of := range map[string]func(*store.Run, *query) (any, error){
		"head":                        func(r *store.Run, q *query) (any, error) { return r.Head(q.text("keys") != "0") },
		"cycle/{cycle}":               func(r *store.Run, q *query) (any, error) { return r.Cycle(q.cycle(), q.text("key")) },
		"samples":                     samples,
		"group/{cycle}/{group}":       group,
		"sample/{cycle}/{group}/{id}": inspect,
		"next":                        next,
		"evals":                       func(r *store.Run, _ *query) (any, error) { return r.Evals() },
		"evals/{name}":                eval,
		"experts":                     func(r *store.Run, q *query) (any, error) { return r.Experts(q.whole("c", -1), q.whole("layer", -1)) },
		"config":                      func(r *store.Run, _ *query) (any, error) { return r.Config() },
		"log":                         logs,
	} {
		s.handle("/api/r/{run}/"+path, s.with(of))
	}
	s.mux.HandleFunc("GET /api/r/{run}/rows", s.rows)
	s.mux.HandleFunc("GET /api/r/{run}/time/{cycle}", s.time)
	s.mux.HandleFunc("GET /api/r/{run}/events", s.events)
	s.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
}

// handle answers a path with what of returns, as JSON.
func (s *Server) handle(path string, of func(*query) (any, error)) {
	s.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		q := newQuery(r)
		v, err := of(q)
		if q.err != nil {
			err = q.err // what was asked wrongly comes before what came of it
		}
		if err != nil {
			s.fail(w, r, err)
			return
		}
		write(w, http.StatusOK, v)
	})
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
	if err != nil {
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
	q := newQuery(r)
	v, err := s.with(func(run *store.Run, q *query) (any, error) {
		ask, err := q.ask()
		if err != nil {
			return nil, err
		}
		return run.Rows(ask)
	})(q)
	switch {
	case q.err != nil:
		s.fail(w, r, q.err)
	case err != nil:
		s.fail(w, r, err)
	case q.text("format") == "csv":
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
	q := newQuery(r)
	v, err := s.with(func(run *store.Run, q *query) (any, error) { return run.Time(q.cycle()) })(q)
	if q.err != nil {
		err = q.err
	}
	if err == nil && q.text("format") == "trace" {
		var b []byte
		if b, err = store.Trace(v.(*api.Time)); err == nil {
			w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="cycle-%d.json"`, q.cycle()))
			write(w, http.StatusOK, json.RawMessage(b))
			return
		}
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	write(w, http.StatusOK, v)
}

func samples(r *store.Run, q *query) (any, error) {
	return r.Samples(store.SampleAsk{Q: q.text("q"), Sort: q.text("sort"), Limit: q.whole("limit", 100), After: q.text("after"), Text: q.text("text") == "1"})
}

func group(r *store.Run, q *query) (any, error) {
	return r.Group(q.cycle(), uint32(q.path("group")), q.text("eval"))
}

func inspect(r *store.Run, q *query) (any, error) {
	id := store.SampleID{Cycle: q.cycle(), Group: uint32(q.path("group")), Slot: q.path("id"), Eval: q.text("eval")}
	return r.Inspect(id, q.whole("from", 0), q.whole("to", -1))
}

func next(r *store.Run, q *query) (any, error) {
	if by := q.text("by"); by != "" && by != "gap" {
		q.bad("by is %q, want gap", by)
	}
	a := q.place("at")
	a.At.Eval = q.text("eval")
	a.Among = q.text("in")
	if a.Among == "" {
		a.Among = "sample"
	}
	switch d := q.whole("dir", 1); d {
	case 1, -1:
		a.Up = d == -1
	default:
		q.bad("dir is %d, want 1 or -1", d)
	}
	if q.err != nil {
		return nil, q.err
	}
	return r.Next(a)
}

func eval(r *store.Run, q *query) (any, error) {
	return r.Eval(store.EvalAsk{Name: q.r.PathValue("name"), A: q.whole("a", -1), B: q.whole("b", -1), K: q.whole("k", 1)})
}

func logs(r *store.Run, q *query) (any, error) {
	a := store.LogAsk{Level: q.level(), After: q.offset("after"), Before: q.offset("before"), Limit: q.whole("limit", 200), Q: q.text("q")}
	if a.Limit < 1 || a.Limit > 1000 {
		q.bad("limit is %d, want 1 to 1,000", a.Limit)
	}
	if q.err != nil {
		return nil, q.err
	}
	return r.Log(a)
}
