package store

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"furlong/dash/api"
	"furlong/metrics/run"
	"furlong/verdict"
)

// Evals answers which evaluations there are, with their figures as the rows have them.
func (r *Run) Evals() (*api.Evals, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.look(); err != nil {
		return nil, err
	}
	out := &api.Evals{Names: []string{}, Evals: []api.EvalHead{}}
	for _, name := range r.evalNames() {
		out.Names = append(out.Names, name)
		for _, c := range r.cyclesIn("eval/" + name) {
			e, err := r.readEval(name, c)
			if err != nil {
				continue // the problem is told by the matrix
			}
			out.Evals = append(out.Evals, r.evalHead(e))
		}
	}
	return out, nil
}

func (r *Run) evalHead(e run.Evaluation) api.EvalHead {
	h := api.EvalHead{
		Name: e.Name, Cycle: e.Cycle, Attempt: e.Attempt, Version: verdict.Version(e.Version), Time: e.Time, Problems: len(e.Problems), Settings: e.Settings, Pass: map[string]api.Pass{},
	}
	for _, p := range e.Problems {
		h.Samples += p.N
		h.Truncated += p.Truncated
	}
	t := r.table
	i := t.find(int32(e.Cycle))
	if i == len(t.points) || int(t.points[i].cycle) != e.Cycle {
		return h
	}
	prefix := "eval/" + e.Name + "-pass@"
	for _, c := range t.cols {
		k, ok := strings.CutPrefix(c.name, prefix)
		if _, err := strconv.Atoi(k); !ok || err != nil || t.warm([]string{c.name}) != nil || isAbsent(c.value(t.points[i])) {
			continue
		}
		h.Pass[k] = r.pass(c.name, t.points[i])
	}
	return h
}

func (r *Run) pass(key string, p point) api.Pass {
	n := func(suffix string) api.Number {
		_ = r.table.warm([]string{key + suffix})
		return r.table.numberOf(key+suffix, p)
	}
	return api.Pass{Value: n(""), Lo: n("_lo"), Hi: n("_hi"), DecodeLo: n("_decode_lo"), DecodeHi: n("_decode_hi")}
}

// An EvalAsk says which evaluation, and which two cycles to compare; A or B < 0 compares none.
type EvalAsk struct {
	Name    string
	A, B, K int
}

// Eval answers an evaluation problem by problem.
func (r *Run) Eval(a EvalAsk) (*api.Eval, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.evalNames(), a.Name) {
		return nil, asked(Missing, "there is no evaluation %q", a.Name).hint("there are %s", strings.Join(r.evalNames(), ", "))
	}
	out := &api.Eval{Name: a.Name, Cycles: r.cyclesIn("eval/" + a.Name), Problems: []api.EvalProblem{}}
	rows := map[string]*api.EvalProblem{}
	kept := map[int]run.Evaluation{}
	for i, c := range out.Cycles {
		e, err := r.readEval(a.Name, c)
		if err != nil {
			return nil, err
		}
		if c == a.A || c == a.B {
			kept[c] = e
		}
		for _, p := range e.Problems {
			row := rows[p.ID]
			if row == nil {
				row = &api.EvalProblem{ID: clean(p.ID), Cells: make([]*api.Cell, len(out.Cycles))}
				rows[p.ID] = row
			}
			row.Cells[i] = &api.Cell{N: p.N, C: p.C, Truncated: p.Truncated, Group: p.Group}
		}
	}
	for _, row := range rows {
		row.Change = change(row.Cells)
		out.Problems = append(out.Problems, *row)
	}
	slices.SortFunc(out.Problems, func(x, y api.EvalProblem) int {
		return cmp.Or(cmp.Compare(number(x.Change), number(y.Change)), cmp.Compare(x.ID, y.ID))
	})
	var err error
	if a.A >= 0 && a.B >= 0 {
		out.Paired, err = pair2(kept, a)
	}
	return out, err
}

// number reads a number back; what is not there comes first.
func number(n api.Number) float64 {
	v, err := strconv.ParseFloat(string(n), 64)
	if err != nil {
		return math.Inf(-1)
	}
	return v
}

// change is the last share of right answers less the first.
func change(cells []*api.Cell) api.Number {
	var first, last *api.Cell
	for _, c := range cells {
		if c == nil || c.N == 0 {
			continue
		}
		if first == nil {
			first = c
		}
		last = c
	}
	if first == nil {
		return ""
	}
	return api.Float(share(last) - share(first))
}

func share(c *api.Cell) float64 { return float64(c.C) / float64(c.N) }

func pair2(kept map[int]run.Evaluation, a EvalAsk) (*api.Paired, error) {
	x, okA := kept[a.A]
	y, okB := kept[a.B]
	if !okA || !okB {
		return nil, asked(Missing, "evaluation %s has no file for cycle %d or %d", a.Name, a.A, a.B)
	}
	p, err := paired(x, y, max(a.K, 1))
	return &p, err
}

// paired compares two evaluations problem by problem.
func paired(a, b run.Evaluation, k int) (api.Paired, error) {
	out := api.Paired{A: a.Cycle, B: b.Cycle, K: k, Gained: []string{}, Lost: []string{}}
	d, ok, err := verdict.Paired(a, b, k)
	if err != nil {
		return out, asked(Wrong, "%v", err)
	}
	if ok {
		out.Diff, out.Lo, out.Hi = api.Float(d.Value), api.Float(d.Lo), api.Float(d.Hi)
	}
	before := map[string]run.Problem{}
	for _, p := range a.Problems {
		before[p.ID] = p
	}
	for _, p := range b.Problems {
		was, ok := before[p.ID]
		if !ok || was.N == 0 || p.N == 0 {
			continue
		}
		out.Problems++
		switch diff := p.C*was.N - was.C*p.N; {
		case diff > 0:
			out.Gained = append(out.Gained, clean(p.ID))
		case diff < 0:
			out.Lost = append(out.Lost, clean(p.ID))
		default:
			out.Unchanged++
		}
	}
	slices.Sort(out.Gained)
	slices.Sort(out.Lost)
	return out, nil
}
