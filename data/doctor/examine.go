package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"furlong/data"
	"furlong/data/rows"
	"furlong/reward"
	"furlong/rl"
	"furlong/tokenizer"
)

const mostMalformed = data.MostMalformed

// A problem is what is kept of a prompt that differs from all before it.
type problem struct {
	sig      signature
	numbers  uint64
	label    uint64 // 0 is none
	file     int32  // of all files, those of Against first
	number   int32  // of the row
	rows     int32  // that a run would train on
	against  bool
	conflict bool  // another row gives it another label
	overlap  int32 // 1 + the problem of Against that it is, or nearly is
}

// An Examination goes through files and remembers what Fix needs.
type Examination struct {
	Options
	readers [2]*data.Reader // of Files and of Against
	names   []string        // of all files, those of Against first
	wraps   []wrapper
	parquet []bool

	problems []problem
	byText   map[key]int32
	ids      map[key]key // the content that an id stands for
	labels   map[string]string
	tally    tally
	report   Report
	nearTo   map[int32]int32 // problems that are nearly an earlier one
}

// Run examines files.
func Run(ctx context.Context, o Options) (*Examination, *Report, error) {
	e := &Examination{
		Options: o, names: slices.Concat(o.Against, o.Files), byText: map[key]int32{}, ids: map[key]key{}, labels: map[string]string{},
		tally: tally{}, nearTo: map[int32]int32{}, report: Report{Keys: Keys{}},
	}
	if e.Tokens == nil {
		e.Tokens = tokenizer.Bytes{}
	}
	if err := e.open(); err != nil {
		return nil, nil, err
	}
	for i := range e.names {
		if err := e.learn(i); err != nil {
			return nil, nil, err
		}
		if err := e.each(ctx, i, "reading", func(s *seen) error { return e.note(ctx, s) }); err != nil {
			return nil, nil, err
		}
	}
	e.compare()
	e.conclude()
	return e, &e.report, ctx.Err()
}

// open makes the readers of rows.
func (e *Examination) open() error {
	template, err := newBare(e.Templates)
	if err != nil {
		return err
	}
	for i := range e.readers {
		c := e.Data
		c.File, c.Template = "", template
		if i == 1 {
			c.InputKey, c.LabelKey = or(e.AgainstInput, c.InputKey), or(e.AgainstLabel, c.LabelKey)
		}
		if e.readers[i], err = data.NewReader(c, e.Tokens); err != nil {
			return err
		}
	}
	return nil
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// against tells whether a file is one to be evaluated on.
func (e *Examination) against(file int) bool { return file < len(e.Against) }

// learn finds out a file's wrapper.
func (e *Examination) learn(file int) error {
	f, err := rows.Open(e.names[file], e.Data.MaxLineBytes)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, column := range f.LeftOut() {
		e.tally.add("not-read", e.names[file], "%s", column)
	}
	l := newLearned()
	for range learnFrom {
		r, err := f.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if row, err := e.reader(file).Row(r.Text, false); err == nil {
			l.see(row.Text)
		}
	}
	e.wraps, e.parquet = append(e.wraps, l.wrapper()), append(e.parquet, f.Parquet())
	return nil
}

func (e *Examination) reader(file int) *data.Reader {
	if e.against(file) {
		return e.readers[1]
	}
	return e.readers[0]
}

// seen is a row as it is looked at.
type seen struct {
	rows.Row
	file    int
	place   string
	row     data.Row
	err     error
	content key // of problem and label
	text    key // of the problem
	problem string
}

// each hands out the rows of a file that are not blank.
func (e *Examination) each(ctx context.Context, file int, what string, look func(*seen) error) error {
	f, err := rows.Open(e.names[file], e.Data.MaxLineBytes)
	if err != nil {
		return err
	}
	defer f.Close()
	for n := 0; ; n++ {
		r, err := f.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if e.Progress != nil && n%256 == 0 {
			e.Progress(what+" "+e.names[file], f.Done(), f.Size())
		}
		if r.Text == nil && r.Fault == nil {
			continue
		}
		if err := look(e.see(file, r, f.Parquet())); err != nil {
			return err
		}
	}
}

// see reads a row.
func (e *Examination) see(file int, r rows.Row, parquet bool) *seen {
	s := &seen{Row: r, file: file, place: rows.Place(e.names[file], parquet, r.Number), err: r.Fault}
	if s.err == nil {
		s.row, s.err = e.reader(file).Row(r.Text, !e.against(file))
	}
	if s.err == nil {
		s.problem = e.wraps[file].problem(s.row.Text)
		s.text = keyOf(s.problem)
		s.content = keyOf(s.row.Label + "\x00" + s.problem)
	}
	return s
}

// note counts what there is to say of a row.
func (e *Examination) note(ctx context.Context, s *seen) error {
	if e.against(s.file) {
		if s.err == nil {
			e.remember(s)
		}
		return nil
	}
	e.report.Rows++
	e.keys(s)
	why, err := e.faults(ctx, s)
	if err != nil {
		return err
	}
	spoiled := s.err != nil
	for _, w := range why {
		e.tally.add(w.kind, s.place, "%s", w.what)
		spoiled = spoiled || harms(w.kind)
	}
	if spoiled { // what no run should take is nobody's first
		return nil
	}
	e.report.Longest = max(e.report.Longest, s.row.Tokens)
	if s.row.OwnID {
		if id := keyOf(s.row.ID); e.ids[id] == (key{}) {
			e.ids[id] = s.content
		}
	}
	e.repeated(s)
	return nil
}

// remember takes a problem into the index and returns its place and whether it is new.
func (e *Examination) remember(s *seen) (at int32, fresh bool) {
	at, ok := e.byText[s.text]
	if ok {
		return at, false
	}
	at = int32(len(e.problems))
	p := problem{file: int32(s.file), number: int32(s.Number), against: e.against(s.file)}
	if s.row.Label != "" {
		p.label = hash64(s.row.Label) | 1
	}
	if int(at) < e.MostNear {
		p.sig, p.numbers = sign(s.problem)
	}
	e.problems = append(e.problems, p)
	e.byText[s.text] = at
	return at, true
}

// repeated counts a row among those of its problem.
func (e *Examination) repeated(s *seen) {
	at, fresh := e.remember(s)
	p := &e.problems[at]
	p.rows++
	if fresh {
		return
	}
	first := e.placeOf(at)
	if p.against {
		e.tally.add("overlap", s.place, "as %s", first)
		return
	}
	if s.row.Label != "" && p.label != 0 && p.label != hash64(s.row.Label)|1 {
		p.conflict = true
		e.tally.add("conflict", s.place, "as %s, label %.40q here", first, s.row.Label)
		return
	}
	e.tally.add("duplicate", s.place, "as %s", first)
}

// placeOf names the first row of a problem.
func (e *Examination) placeOf(at int32) string {
	p := &e.problems[at]
	return rows.Place(e.names[p.file], e.parquet[p.file], int(p.number))
}

// A why is one thing that is wrong with a row by itself.
type why struct{ kind, what string }

// refusals are the kinds of findings for which a run refuses a row.
var refusals = map[data.Part]string{
	data.Prompt: "no-prompt", data.Label: "bad-label", data.Metadata: "bad-metadata", data.ID: "bad-id", data.Keys: "repeated-key",
}

// faults returns what is wrong with a row by itself.
func (e *Examination) faults(ctx context.Context, s *seen) (out []why, err error) {
	add := func(kind, format string, args ...any) { out = append(out, why{kind, fmt.Sprintf(format, args...)}) }
	switch {
	case s.Fault != nil || s.err != nil && data.Malformed(s.err):
		add("malformed", "%v", s.err)
		return out, nil
	case s.err != nil:
		add(refusals[data.PartOf(s.err)], "%v", s.err)
		return out, nil
	}
	if e.Data.LabelKey != "" && s.row.Label == "" {
		add("no-label", "%s is empty or missing", e.Data.LabelKey)
	} else if e.Data.LabelKey != "" {
		bad, err := e.ungradable(ctx, s.row)
		if err != nil {
			return nil, err
		}
		if bad != "" {
			add("ungradable", "%.60q: %s", s.row.Label, bad)
		}
	}
	if s.row.OwnID {
		if first, ok := e.ids[keyOf(s.row.ID)]; ok && first != s.content {
			add("id", "%.60s", s.row.ID)
		}
	}
	if n := e.Data.MaxPromptTokens; n > 0 && s.row.Tokens > n {
		add("too-long", "%d tokens", s.row.Tokens)
	}
	for _, text := range []string{s.row.Text, s.row.Label} {
		textFaults(text, add)
	}
	return out, nil
}

// textFaults reports what a program did to a text.
func textFaults(text string, add func(kind, format string, args ...any)) {
	if c := brokenEscape(text); c != "" {
		add("broken-escape", `what was \%s`, c)
	} else if control(text) {
		add("control-character", "")
	}
	if c := doubleEscape(text); c != "" {
		add("double-escape", `\\%s`, c)
	}
	if c := lostBackslash(text); c != "" {
		add("lost-backslash", "%s{", c)
	}
	if misread(text) {
		add("misread", "")
	}
}

// mostLabels is how many verdicts on labels are remembered.
const mostLabels = 100_000

// ungradable says why the grader cannot read a label, "" if it can.
func (e *Examination) ungradable(ctx context.Context, r data.Row) (string, error) {
	if e.Grades == nil {
		return "", nil
	}
	at := r.Label + "\x00" + string(r.Metadata)
	if why, ok := e.labels[at]; ok {
		return why, nil
	}
	bad := ""
	if err := reward.Check(ctx, e.Grades, []*rl.Prompt{{ID: r.ID, Text: r.Text, Label: r.Label, Metadata: r.Metadata}}); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		bad = err.Error()
		if _, after, ok := strings.Cut(bad, "the first: prompt "+r.ID+": "); ok {
			bad = after
		}
	}
	if len(e.labels) < mostLabels {
		e.labels[at] = bad
	}
	return bad, nil
}

// keys counts the keys of a row and the kinds of their values.
func (e *Examination) keys(s *seen) {
	var f map[string]json.RawMessage
	if s.Fault != nil || json.Unmarshal(s.Text, &f) != nil {
		return
	}
	for k, raw := range f {
		if e.report.Keys[k] == nil {
			if len(e.report.Keys) >= mostKeys {
				continue
			}
			e.report.Keys[k] = map[string]int{}
		}
		e.report.Keys[k][kindOf(raw)]++
	}
}

func kindOf(raw json.RawMessage) string {
	switch raw[0] {
	case '"':
		return "text"
	case '[':
		return "list"
	case '{':
		return "object"
	case 't', 'f':
		return "truth"
	case 'n':
		return "null"
	}
	return "number"
}

// compare looks for problems that are nearly the same.
func (e *Examination) compare() {
	all := e.problems
	if len(all) > e.MostNear {
		all = all[:e.MostNear]
		e.report.NearOnly = e.MostNear
	}
	pairs(all, func(i, j int) {
		a, b := &all[i], &all[j]
		switch {
		case b.against || a.against && b.overlap > 0:
		case a.against:
			b.overlap = int32(i) + 1
		default:
			if first, ok := e.nearTo[int32(j)]; !ok || int32(i) < first {
				e.nearTo[int32(j)] = int32(i)
			}
		}
	})
}

// conclude makes the report.
func (e *Examination) conclude() {
	r := &e.report
	for at := range e.problems {
		p := &e.problems[at]
		if p.rows > 0 {
			r.Problems++
			r.Largest = max(r.Largest, int(p.rows))
		}
		if p.against {
			continue
		}
		place := e.placeOf(int32(at))
		if p.overlap > 0 {
			e.tally.add("near-overlap", place, "nearly %s", e.placeOf(p.overlap-1))
		} else if first, ok := e.nearTo[int32(at)]; ok {
			e.tally.add("near-duplicate", place, "nearly %s", e.placeOf(first))
		}
	}
	e.mixture("mixed-prompts", e.Data.InputKey)
	e.mixture("mixed-labels", e.Data.LabelKey)
	if r.Rows == 0 {
		e.tally.add("empty", strings.Join(e.Files, ", "), "")
	}
	r.Findings = e.tally.findings(r.Rows)
}

// mixture notes that a key has values of several kinds. Null is none.
func (e *Examination) mixture(kind, key string) {
	counts, all := e.report.Keys[key], 0
	largest := 0
	var names []string
	for _, k := range []string{"list", "number", "object", "text", "truth"} {
		if n := counts[k]; n > 0 {
			names = append(names, fmt.Sprintf("%d %s", n, k))
			all, largest = all+n, max(largest, n)
		}
	}
	if all > largest {
		e.tally[kind] = &Finding{Count: all - largest, Examples: []string{key + ": " + strings.Join(names, ", ")}}
	}
}
