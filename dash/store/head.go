package store

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"furlong/dash/api"
	"furlong/metrics"
	"furlong/metrics/run"
	"furlong/metrics/trend"
	"furlong/orchestrator"
	"furlong/rl"
	"furlong/verdict"
)

// Head answers what the run is now. Without keys the list of series is left out.
func (r *Run) Head(keys bool) (*api.Head, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.look(); err != nil {
		return nil, err
	}
	now := headKey{r.at(), r.table.resets, len(r.table.lines), r.life.State, r.o.Now().Unix()}
	if r.heads.key == now && !keys {
		h := r.heads.head
		return &h, nil
	}
	h := r.makeHead(keys)
	if !keys {
		r.heads = headCache{now, *h}
	}
	return h, nil
}

// A headCache is the head of this second: every open page asks for it once a second, and it speaks of all rows.
type headCache struct {
	key  headKey
	head api.Head
}

type headKey struct {
	at            string
	resets, lines int
	state         run.State
	second        int64
}

func (r *Run) makeHead(keys bool) *api.Head {
	st := r.life.Status
	h := &api.Head{
		Run: r.id, Dir: r.dir, State: string(r.life.State), Planned: st.Planned, Phase: st.Phase, Since: st.PhaseSince, Waiting: st.WaitingFor,
		Started: st.Started, Beat: st.Beat, Attempt: max(st.Attempt, r.life.Holder.Attempt), Exit: st.Exit,
		Average: trend.Window(st.Planned), Marks: []api.Mark{}, Attempts: []api.Attempt{}, Evals: []string{}, Baselines: append([]api.Baseline{}, r.o.Baselines...),
		At: r.at(), Now: metrics.Unix(r.o.Now()), Problems: r.problems(),
	}
	r.extent(h)
	v := r.verdict()
	h.Verdict, h.Alarms, h.Cycle = sentences(v), alarms(v), verdict.At(v)
	if u := verdict.Usual(v); u > 0 {
		h.Usual = api.Float(u)
	}
	if left, ok := verdict.Left(v); ok && r.life.State == run.Running {
		h.Left = api.Float(left)
	}
	if s := verdict.Serving(v); s != 0 {
		h.Version = verdict.Version(s)
	}
	h.Marks, h.Attempts = r.happened(), r.attempts()
	h.Evals = append(h.Evals, r.evalNames()...)
	if r.life.State == run.Crashed || r.life.State == run.Failed {
		h.Crash = r.crash()
	}
	if keys {
		h.Keys = r.keys()
	}
	return h
}

// extent says from where to where there are rows of cycles.
func (r *Run) extent(h *api.Head) {
	for _, p := range r.table.points {
		if p.row < 0 {
			continue
		}
		if h.Rows++; h.Rows == 1 {
			h.First = int(p.cycle)
		}
		h.Last = int(p.cycle)
	}
	h.Cycle = max(h.Cycle, h.Last)
}

func (r *Run) problems() []api.Problem {
	all := []api.Problem{}
	all = append(all, r.odd...)
	if odd := r.indexOdd.Load(); odd != nil {
		all = append(all, *odd...)
	}
	all = append(all, r.table.bad.report()...)
	return append(all, r.alarms.bad.report()...)
}

// verdict gathers what the sentences are made from.
func (r *Run) verdict() verdict.Run {
	t := r.table
	v := verdict.Run{Life: r.life, Now: r.o.Now(), Points: map[string]verdict.Points{}, Held: map[string]verdict.Difference{}, Twice: r.repeats()}
	for _, c := range t.cols {
		if verdict.Reads(c.name) {
			v.Points[c.name] = r.points(c.name)
		}
	}
	begun := map[int]int{}
	for _, l := range t.lines {
		if was, ok := begun[int(l.attempt)]; !l.eval && (!ok || int(l.cycle) < was) {
			begun[int(l.attempt)] = int(l.cycle)
		}
	}
	for _, p := range t.points {
		if p.row >= 0 {
			v.Cycles++
		}
	}
	if n := len(t.points); n > 0 {
		l := t.live(t.points[n-1])
		v.Newest = metrics.Row{Kind: metrics.Cycle, Cycle: int(l.cycle), Step: int(l.step), Version: rl.Version(l.version), Attempt: int(l.attempt), Time: l.time}
	}
	v.Alarms = verdict.Fold(r.alarms.all, begun)
	for _, name := range r.evalNames() {
		if d, ok := r.heldOut(name); ok {
			v.Held[name] = d
		}
	}
	return v
}

func sentences(v verdict.Run) []api.Verdict {
	var out []api.Verdict
	for _, s := range verdict.Of(v) {
		links := []api.Link{}
		for _, l := range s.Links {
			links = append(links, api.Link(l))
		}
		out = append(out, api.Verdict{ID: s.ID, Big: s.Big, Text: s.Text, Tone: string(s.Tone), Links: links})
	}
	return out
}

// alarms are those that were raised, and first what only who reads the whole run can see.
func alarms(v verdict.Run) []api.Alarm {
	out := []api.Alarm{}
	if text, first := verdict.Unequal(v.Twice); text != "" {
		out = append(out, api.Alarm{ID: "unequal-repeat", Severity: "error", Since: first, Text: text, Link: fmt.Sprintf("/?c=%d", first)})
	}
	for _, a := range v.Alarms {
		o := api.Alarm{ID: a.ID, Severity: a.Severity, Since: a.Cycle, Text: a.Text, Link: a.Link, Attempt: a.Attempt}
		if a.Cleared {
			until := a.Until
			o.Until = &until
		}
		out = append(out, o)
	}
	return out
}

// keys lists the series by name.
func (r *Run) keys() []api.Key {
	all := []api.Key{}
	for _, c := range r.table.cols {
		s, _ := metrics.Lookup(c.name)
		all = append(all, api.Key{
			Name: c.name, Unit: s.Unit, Meaning: s.Meaning, Part: s.Part, Wall: s.Wall,
			Last: api.Number(jsonNumber(c.last)), N: c.n, Every: c.every(), Odd: c.odd,
		})
	}
	slices.SortFunc(all, func(a, b api.Key) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// markCache holds the marks of the rows read so far.
type markCache struct {
	lines, resets int
	all           []api.Mark
}

// marked are the series that marks are made from.
var marked = []string{retries, refused, attested, updateTime, skipped}

// happened lists what stands on every chart: updates that were not as usual, skipped steps, resumes.
func (r *Run) happened() []api.Mark {
	t, m := r.table, &r.marks
	if m.all != nil && m.lines == len(t.lines) && m.resets == t.resets {
		return m.all
	}
	*m = markCache{lines: len(t.lines), resets: t.resets, all: []api.Mark{}}
	if t.warm(marked) != nil {
		return m.all
	}
	add := func(p point, kind, format string, args ...any) {
		m.all = append(m.all, api.Mark{Cycle: int(p.cycle), Kind: kind, Text: fmt.Sprintf(format, args...)})
	}
	value := func(key string, p point) float64 {
		if c := t.column(key); c != nil {
			return c.value(p)
		}
		return absent
	}
	attests := r.attests()
	times := trailing{}
	attempt := int32(0)
	for _, p := range t.points {
		if v := value(refused, p); v > 0 {
			add(p, "refused", "the engine refused %s of the update's attempts", verdict.Count(v))
		}
		if v := value(retries, p); v > 0 {
			add(p, "retried", "update took %s more attempts", verdict.Count(v))
		}
		if v := value(attested, p); v == 0 && attests {
			add(p, "unattested", "the engine did not attest the update")
		}
		if v := value(updateTime, p); trend.Finite(v) {
			if usual, z := times.z(v, resolutionOf("s")); z >= 8 && v >= 3*usual && v >= 0.1 {
				add(p, "slow", "update took %s, usually %s", verdict.Seconds(v), verdict.Seconds(usual))
			}
			times.add(v)
		}
		if v := value(skipped, p); v > 0 {
			add(p, "skipped", "%s steps were not taken", verdict.Count(v))
		}
		if a := t.live(p).attempt; p.row >= 0 && a != attempt {
			if attempt != 0 {
				add(p, "resume", "attempt %d goes on here", a)
			}
			attempt = a
		}
	}
	return m.all
}

// attests reports whether updates usually are attested, so that one that is not stands out.
func (r *Run) attests() bool {
	p := r.points(attested)
	yes := 0
	for _, v := range p.Y {
		if v > 0 {
			yes++
		}
	}
	return 2*yes > len(p.Y)
}

// attempts says what each start of the run wrote, and what of it an earlier one had written.
func (r *Run) attempts() []api.Attempt {
	by := map[int]*api.Attempt{}
	for _, l := range r.table.lines {
		a := by[int(l.attempt)]
		if a == nil {
			a = &api.Attempt{Attempt: int(l.attempt), From: int(l.cycle), To: int(l.cycle), Unequal: []int{}, Keys: []api.Name{}}
			by[a.Attempt] = a
		}
		a.From, a.To = min(a.From, int(l.cycle)), max(a.To, int(l.cycle))
	}
	for _, rep := range r.repeats() {
		a := by[slices.Max(rep.Attempts)]
		if rep.Kind != metrics.Cycle || a == nil {
			continue
		}
		a.Again++
		if len(rep.Differ) > 0 {
			a.Unequal = append(a.Unequal, rep.Cycle)
			for _, k := range rep.Differ[:min(len(rep.Differ), 20)] {
				a.Keys = append(a.Keys, api.Name{Cycle: rep.Cycle, Key: k})
			}
		}
	}
	out := []api.Attempt{}
	for _, n := range slices.Sorted(maps.Keys(by)) {
		a := by[n]
		a.Text = again(*a, n == 1)
		out = append(out, *a)
	}
	return out
}

// again says what an attempt did twice.
func again(a api.Attempt, first bool) string {
	text := ""
	if !first {
		text = fmt.Sprintf("resumed from %d", max(a.From-1, 0))
	}
	if a.Again == 0 {
		return text
	}
	if text != "" {
		text += "; "
	}
	cycles := "cycles"
	if a.Again == 1 {
		cycles = "cycle"
	}
	text += fmt.Sprintf("%d %s ran twice", a.Again, cycles)
	if len(a.Unequal) == 0 {
		return text + " with equal values"
	}
	return text + fmt.Sprintf(", %d with unequal values, first %d", len(a.Unequal), a.Unequal[0])
}

// crash says how the end came about and how to go on.
func (r *Run) crash() *api.Crash {
	c := &api.Crash{Log: []api.LogLine{}}
	if l, err := r.readLog(LogAsk{Limit: 20, Level: -8}); err == nil {
		c.Log = l.Lines
	}
	dir := filepath.Join(r.dir, "checkpoints")
	if r.inside("checkpoints") != nil {
		return c
	}
	if at, err := orchestrator.Newest(dir); err == nil && at > 0 {
		c.Checkpoint = orchestrator.Checkpoint(dir, at)
	}
	c.Command = "furlong train --run-dir " + quote(r.dir) + " --resume"
	return c
}

var bare = regexp.MustCompile(`^[A-Za-z0-9_./=:@%+,-]+$`)

// quote writes a word so that a shell takes it as it is.
func quote(word string) string {
	if bare.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// entries lists a folder of the run, nothing if it is not there.
func (r *Run) entries(dir string) []fs.DirEntry {
	all, err := fs.ReadDir(r.root.FS(), dir)
	if err != nil {
		return nil
	}
	return all
}

var numbered = regexp.MustCompile(`^c([0-9]{6,9})\.(?:jsonl|bin)$`)

// cyclesIn lists the cycles that have a file in a folder.
func (r *Run) cyclesIn(dir string) []int {
	var cycles []int
	for _, e := range r.entries(dir) {
		if m := numbered.FindStringSubmatch(e.Name()); m != nil {
			n, _ := strconv.Atoi(m[1])
			cycles = append(cycles, n)
		}
	}
	slices.Sort(cycles)
	return cycles
}

// evalNames lists the held-out sets, by name.
func (r *Run) evalNames() []string {
	var names []string
	for _, e := range r.entries("eval") {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

// held is a difference that was found once, and stays until there is a newer evaluation.
type held struct {
	last int
	d    verdict.Difference
	ok   bool
}

// heldOut returns pass@1 of the last evaluation of a set against its first.
func (r *Run) heldOut(name string) (verdict.Difference, bool) {
	cycles := r.cyclesIn("eval/" + name)
	if len(cycles) < 2 {
		return verdict.Difference{}, false
	}
	last := cycles[len(cycles)-1]
	if h, ok := r.held[name]; ok && h.last == last {
		return h.d, h.ok
	}
	a, errA := r.readEval(name, cycles[0])
	b, errB := r.readEval(name, last)
	if errA != nil || errB != nil {
		return verdict.Difference{}, false
	}
	h := held{last: last}
	h.d, h.ok, _ = verdict.Paired(a, b, 1)
	r.held[name] = h
	return h.d, h.ok
}

// readEval reads one evaluation.
func (r *Run) readEval(name string, cycle int) (run.Evaluation, error) {
	if run.CheckEvalName(name) != nil {
		return run.Evaluation{}, asked(Missing, "there is no evaluation %q", name)
	}
	file := run.EvalFile(name, cycle)
	path, err := r.path(file)
	if err != nil {
		return run.Evaluation{}, err
	}
	e, _, err := run.ReadEval(path)
	if os.IsNotExist(err) {
		return e, asked(Missing, "evaluation %s has no file for cycle %d", name, cycle).in(file)
	}
	if err != nil {
		return e, r.broken(file, err)
	}
	return e, nil
}
