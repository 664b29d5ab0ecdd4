package store

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"furlong/dash/api"
	"furlong/metrics/run"
	"furlong/verdict"
)

// Experts answers the load of experts in a cycle, or the last one before it that has a file; the newest for cycle < 0. layer < 0 is none.
func (r *Run) Experts(cycle, layer int) (*api.Experts, error) {
	cycles := r.cyclesIn("experts")
	if len(cycles) == 0 {
		return nil, asked(Missing, "this run has no loads of experts").in("experts")
	}
	at := len(cycles) - 1
	if cycle >= 0 {
		i, exact := slices.BinarySearch(cycles, cycle)
		if at = i; !exact {
			at--
		}
		at = max(at, 0)
	}
	l := &loads{r: r, bad: []api.Problem{}}
	e, at, err := l.newest(cycles, at, cycle < 0)
	if err != nil {
		return nil, err
	}
	out := expertsNow(e)
	out.Cycles, out.Keys = cycles, r.expertKeys()
	out.Dead = l.dead(cycles[:at+1], e)
	r.expertTable(out, e)
	if layer >= 0 {
		if layer >= e.Layers {
			return nil, asked(Missing, "layer is %d, the run has %d", layer, e.Layers)
		}
		out.History = l.past(cycles[:at+1], layer)
	}
	out.Bad = l.bad
	return out, nil
}

// loads reads files of loads, and notes those that it could not read: one that is damaged hides the others as little as one that is missing.
type loads struct {
	r    *Run
	bad  []api.Problem
	seen map[int]bool // that are noted
}

// newest reads the file of the cycle at, or, where the latest is asked for, the one before it if that can't be read.
func (l *loads) newest(cycles []int, at int, latest bool) (e run.Experts, found int, err error) {
	var first error
	for ; at >= 0; at-- {
		if e, err = l.r.readExperts(cycles[at]); err == nil || !latest {
			return e, at, err
		}
		l.note(cycles[at], err)
		first = cmp.Or(first, err)
	}
	return e, 0, first
}

// read reads the file of a cycle, unless it can't be.
func (l *loads) read(cycle int) (run.Experts, bool) {
	e, err := l.r.readExperts(cycle)
	if err != nil {
		l.note(cycle, err)
	}
	return e, err == nil
}

func (l *loads) note(cycle int, err error) {
	if l.seen[cycle] {
		return
	}
	if l.seen == nil {
		l.seen = map[int]bool{}
	}
	l.seen[cycle] = true
	file := run.ExpertsFile(cycle)
	l.bad = append(l.bad, api.Problem{File: file, Error: l.r.plain(file, err), N: 1})
}

func (r *Run) readExperts(cycle int) (run.Experts, error) {
	file := run.ExpertsFile(cycle)
	path, err := r.path(file)
	if err != nil {
		return run.Experts{}, err
	}
	e, err := run.ReadExperts(path)
	if err != nil {
		return e, r.broken(file, err)
	}
	return e, nil
}

func (r *Run) expertKeys() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	keys := []string{}
	if r.look() != nil {
		return keys
	}
	for _, c := range r.table.cols {
		if strings.HasPrefix(c.name, "moe/") {
			keys = append(keys, c.name)
		}
	}
	slices.Sort(keys)
	return keys
}

func expertsNow(e run.Experts) *api.Experts {
	out := &api.Experts{Cycle: e.Cycle, Version: verdict.Version(e.Version), Sides: []string{"trainer"}, Layers: e.Layers, Experts: e.Experts, Dead: []api.Expert{}, Hot: []api.Expert{}, Table: []api.ExpertLayer{}}
	if e.Sides == 2 {
		out.Sides = []string{"rollout", "trainer"}
	}
	for s := range e.Sides {
		var side [][]uint32
		for l := range e.Layers {
			from := (s*e.Layers + l) * e.Experts
			side = append(side, e.Tokens[from:from+e.Experts])
		}
		out.Tokens = append(out.Tokens, side)
	}
	for _, a := range e.Agreement {
		out.Agree = append(out.Agree, api.Float32(a))
	}
	return out
}

// load returns tokens over the fair share, of all sides, for each expert of a layer.
func load(e run.Experts, layer int) []float64 {
	out := make([]float64, e.Experts)
	sum := 0.0
	for s := range e.Sides {
		for i := range out {
			n := float64(e.Tokens[(s*e.Layers+layer)*e.Experts+i])
			out[i] += n
			sum += n
		}
	}
	for i := range out {
		if sum > 0 {
			out[i] *= float64(e.Experts) / sum
		}
	}
	return out
}

// hot is from how many fair shares on an expert is called so.
const hot = 4

func (r *Run) expertTable(out *api.Experts, e run.Experts) {
	for l := range e.Layers {
		w := load(e, l)
		row := api.ExpertLayer{Layer: l, Agree: api.Float32(e.Agreement[l])}
		squares, most := 0.0, 0.0
		for i, v := range w {
			squares += (v - 1) * (v - 1)
			most = max(most, v)
			if v == 0 {
				row.Dead++
			}
			if v >= hot {
				out.Hot = append(out.Hot, api.Expert{Layer: l, Expert: i, Load: api.Float(v)})
			}
		}
		row.CV, row.Max = api.Float(math.Sqrt(squares/float64(len(w)))), api.Float(most)
		out.Table = append(out.Table, row)
	}
}

// deadFor is over how many cycles an expert without a token is called dead.
const deadFor = 20

// dead lists the experts that had no token in the last cycles.
func (l *loads) dead(cycles []int, e run.Experts) []api.Expert {
	out := []api.Expert{}
	recent := cycles[max(0, len(cycles)-deadFor):]
	if len(recent) < deadFor {
		return out
	}
	alive := make([]bool, e.Layers*e.Experts)
	for _, c := range recent {
		x, ok := l.read(c)
		if !ok {
			continue
		}
		if x.Layers != e.Layers || x.Experts != e.Experts {
			return out
		}
		for i, n := range x.Tokens {
			if n > 0 {
				alive[i%len(alive)] = true
			}
		}
	}
	for i, a := range alive {
		if !a {
			out = append(out, api.Expert{Layer: i / e.Experts, Expert: i % e.Experts, Load: "0", Since: recent[0]})
		}
	}
	return out
}

// pastMax is how many cycles the history of a layer has.
const pastMax = 200

func (l *loads) past(cycles []int, layer int) *api.ExpertPast {
	out := &api.ExpertPast{Layer: layer, Cycles: []int{}, Load: [][]api.Number{}}
	for _, c := range cycles[max(0, len(cycles)-pastMax):] {
		e, ok := l.read(c)
		if !ok || layer >= e.Layers {
			continue
		}
		row := []api.Number{}
		for _, v := range load(e, layer) {
			row = append(row, api.Float(v))
		}
		out.Cycles, out.Load = append(out.Cycles, c), append(out.Load, row)
	}
	return out
}
