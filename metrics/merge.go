package metrics

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"furlong/metrics/disk"
	"furlong/rl"
)

// ReadRows returns the rows of a metrics.jsonl in the order of the file, and the lines that are none. A missing file has no rows.
func ReadRows(path string) ([]Row, []disk.Bad, error) { return disk.ReadLines(path, ParseRow) }

// A Repeat is a row that was written more than once.
type Repeat struct {
	Kind     Kind
	Cycle    int
	Attempts []int    // of its rows, in the order of the file
	Differ   []string // series and fields that are not equal in all of them; none when a resumed run repeated itself exactly
}

// Merge returns one row for each kind and cycle, by cycle: that of the highest attempt, and of two of one attempt the later. It
// also returns what it left out.
func Merge(rows []Row) ([]Row, []Repeat) {
	type name struct {
		kind  Kind
		cycle int
	}
	all := map[name][]Row{}
	for _, r := range rows {
		n := name{r.Kind, r.Cycle}
		all[n] = append(all[n], r)
	}
	var live []Row
	var repeats []Repeat
	for n, rs := range all {
		live = append(live, newest(rs))
		if len(rs) > 1 {
			repeats = append(repeats, repeat(n.kind, n.cycle, rs))
		}
	}
	slices.SortFunc(live, func(a, b Row) int { return cmp.Or(cmp.Compare(a.Cycle, b.Cycle), cmp.Compare(a.Kind, b.Kind)) })
	slices.SortFunc(repeats, func(a, b Repeat) int { return cmp.Or(cmp.Compare(a.Cycle, b.Cycle), cmp.Compare(a.Kind, b.Kind)) })
	return live, repeats
}

func newest(rows []Row) Row {
	win := rows[0]
	for _, r := range rows[1:] {
		if r.Attempt >= win.Attempt {
			win = r
		}
	}
	return win
}

func repeat(kind Kind, cycle int, rows []Row) Repeat {
	p := Repeat{Kind: kind, Cycle: cycle}
	for i, r := range rows {
		p.Attempts = append(p.Attempts, r.Attempt)
		if i > 0 {
			p.Differ = append(p.Differ, Differ(rows[i-1], r)...)
		}
	}
	slices.Sort(p.Differ)
	p.Differ = slices.Compact(p.Differ)
	return p
}

// Comparable returns r without what may differ between two runs of one seed, broken off or not: time, attempt, the epoch of the
// version, and every series that depends on the clock (perf/ and the others the table marks so).
func (r Row) Comparable() Row {
	r.Time, r.Attempt, r.Version = 0, 1, rl.NewVersion(0, r.Version.Count())
	r.Values = maps.Clone(r.Values)
	maps.DeleteFunc(r.Values, func(name string, _ float64) bool {
		s, _ := Lookup(name)
		return s.Wall || strings.HasPrefix(name, "perf/")
	})
	return r
}

// Differ returns the names of what is not equal in the comparable parts of a and b, bit for bit but for NaN, which equals itself.
func Differ(a, b Row) []string {
	a, b = a.Comparable(), b.Comparable()
	var names []string
	if a.Kind != b.Kind || a.Cycle != b.Cycle {
		names = append(names, "cycle")
	}
	if a.Step != b.Step {
		names = append(names, "step")
	}
	if a.Version != b.Version {
		names = append(names, "version")
	}
	for _, n := range slices.Sorted(maps.Keys(union(a.Values, b.Values))) {
		x, inA := a.Values[n]
		y, inB := b.Values[n]
		if inA != inB || !same(x, y) {
			names = append(names, n)
		}
	}
	return names
}

func union(a, b map[string]float64) map[string]float64 {
	u := maps.Clone(a)
	if u == nil {
		u = map[string]float64{}
	}
	maps.Copy(u, b)
	return u
}

func same(x, y float64) bool {
	return math.Float64bits(x) == math.Float64bits(y) || math.IsNaN(x) && math.IsNaN(y)
}

// Compare says whether two runs of one seed went the same way: nil if their merged rows are comparable and equal, else the first difference.
func Compare(a, b []Row) error {
	a, _ = Merge(a)
	b, _ = Merge(b)
	for i := range min(len(a), len(b)) {
		if a[i].Kind != b[i].Kind || a[i].Cycle != b[i].Cycle {
			return fmt.Errorf("row %d is %s %d in one run and %s %d in the other", i, a[i].Kind, a[i].Cycle, b[i].Kind, b[i].Cycle)
		}
		if d := Differ(a[i], b[i]); len(d) > 0 {
			return fmt.Errorf("%s %d: %s differs: %v and %v (%d differences in the row)", a[i].Kind, a[i].Cycle, d[0], a[i].field(d[0]), b[i].field(d[0]), len(d))
		}
	}
	if len(a) != len(b) {
		return fmt.Errorf("one run has %d rows, the other %d, equal as far as both go", len(a), len(b))
	}
	return nil
}

// field returns what stands under a name that Differ gave.
func (r Row) field(name string) any {
	switch name {
	case "step":
		return r.Step
	case "version":
		return r.Version
	}
	if v, ok := r.Values[name]; ok {
		return v
	}
	return "nothing"
}
