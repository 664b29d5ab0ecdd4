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
	out := &api.Evals{Names: []string{}, Evals: []api.EvalHead{}, Bad: []api.Problem{}}
	for _, name := range r.evalNames() {
		out.Names = append(out.Names, name)
		all, bad := r.tallied(name)
		out.Bad = append(out.Bad, bad...)
		pass, err := r.passes(name, all)
		if err != nil {
			return nil, r.broken(run.RowsFile, err)
		}
		for i, e := range all {
			out.Evals = append(out.Evals, evalHead(e, pass[i]))
		}
	}
	return out, nil
}

func evalHead(e tally, pass map[string]api.Pass) api.EvalHead {
	h := api.EvalHead{
		Name: e.Name, Cycle: e.Cycle, Attempt: e.Attempt, Version: verdict.Version(e.Version), Time: e.Time, Problems: len(e.Problems), Settings: e.Settings, Pass: pass,
	}
	for _, p := range e.Problems {
		h.Samples += p.N
		h.Truncated += p.Truncated
	}
	return h
}

// passSuffixes are the ends of the series that belong to one pass@k.
var passSuffixes = [...]string{"", "_lo", "_hi", "_decode_lo", "_decode_hi"}

// passes returns pass@k of evaluations of one set, by k, as the rows have them.
func (r *Run) passes(name string, all []tally) ([]map[string]api.Pass, error) {
	t := r.table
	var ks, keys []string
	prefix := "eval/" + name + "-pass@"
	for _, c := range t.cols {
		if k, ok := strings.CutPrefix(c.name, prefix); ok {
			if _, err := strconv.Atoi(k); err == nil {
				ks = append(ks, k)
			}
		}
	}
	for _, k := range ks {
		for _, s := range passSuffixes {
			keys = append(keys, prefix+k+s)
		}
	}
	if err := t.warm(keys); err != nil {
		return nil, err
	}
	points := make([]point, len(all))
	for i, e := range all {
		points[i] = t.pointOf(int32(e.Cycle))
	}
	again, err := t.foreign(points, keys)
	if err != nil {
		return nil, err
	}
	out := make([]map[string]api.Pass, len(all))
	for i, p := range points {
		out[i] = map[string]api.Pass{}
		for _, k := range ks {
			var n [len(passSuffixes)]api.Number
			for j, s := range passSuffixes {
				if c := t.column(prefix + k + s); c != nil {
					n[j] = t.number(c, p, again)
				}
			}
			if n[0] != "" {
				out[i][k] = api.Pass{Value: n[0], Lo: n[1], Hi: n[2], DecodeLo: n[3], DecodeHi: n[4]}
			}
		}
	}
	return out, nil
}

// pointOf returns the point of a cycle, one without rows if there is none.
func (t *table) pointOf(cycle int32) point {
	if i := t.find(cycle); i < len(t.points) && t.points[i].cycle == cycle {
		return t.points[i]
	}
	return point{cycle, -1, -1}
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
	if names := r.evalNames(); !slices.Contains(names, a.Name) {
		return nil, asked(Missing, "there is no evaluation %q", a.Name).hint("%s", listed(names))
	}
	all, bad := r.tallied(a.Name)
	out := &api.Eval{Name: a.Name, Cycles: []int{}, Problems: []api.EvalProblem{}, Bad: append([]api.Problem{}, bad...)}
	rows := map[string]*api.EvalProblem{}
	for i, e := range all {
		out.Cycles = append(out.Cycles, e.Cycle)
		for _, p := range e.Problems {
			row := rows[p.ID]
			if row == nil {
				row = &api.EvalProblem{ID: clean(p.ID), Cells: make([]*api.Cell, len(all))}
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
		out.Paired, err = r.pair(a)
	}
	return out, err
}

// listed says which names there are.
func listed(names []string) string {
	if len(names) == 0 {
		return "the run has none yet"
	}
	return "there are " + strings.Join(names, ", ")
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

// pair compares the two evaluations asked for.
func (r *Run) pair(a EvalAsk) (*api.Paired, error) {
	x, errA := r.readEval(a.Name, a.A)
	y, errB := r.readEval(a.Name, a.B)
	if err := cmp.Or(errA, errB); err != nil {
		return nil, err
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
