package parity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"furlong/parity/taps"
	"furlong/tokenizer"
)

// Options say what Run compares.
type Options struct {
	Settings Settings
	Made     string // when, RFC 3339
	Build    string

	Sequences []Sequence // prompts, or prompts with responses where Draw is nil
	Draw      *Drawing   // has A answer the prompts; nil takes responses as they are
	Tokenizer tokenizer.Tokenizer
	Ignore    []string // checks whose failure is noted and stops nothing
	Taps      int      // sequences, at most, of which both sides' inner results are recorded
	Find      Finder   // looks for the first divergence; nil looks for none

	// Progress is told how much of a stage is done.
	Progress func(stage string, done, total int)
}

// A Tapped is a side whose inner results can be recorded.
type Tapped interface {
	// Taps returns what the side computes for a sequence, on the path by which it scores.
	Taps(ctx context.Context, s Sequence) (*taps.Set, error)
}

// A DrawTapped is a side whose inner results can be recorded while it draws a response again, token by token: where scores agree and the logprobs of drawing do not, its fault
// shows there alone.
type DrawTapped interface {
	// DrawnTaps returns what the side computes for a sequence that it drew, on the path by which it draws.
	DrawnTaps(ctx context.Context, s Sequence, d Drawing) (*taps.Set, error)
}

// A Finder finds where two sides begin to differ. Taps that a side does not have are nil.
type Finder func(ctx context.Context, a, b Found) (*Divergence, error)

// Found is what one side gives to a Finder: the taps of one sequence, and what it is.
type Found struct {
	Side  Side
	About About
	Taps  *taps.Set
}

// A Result is a report with what it was made of.
type Result struct {
	Report     *Report
	Sequences  []Sequence
	A, B       []Scores
	TapA, TapB []*taps.Set // by sequence; nil where there are none
}

// Run compares two sides.
func Run(ctx context.Context, a, b Side, o Options) (*Result, error) {
	r := &run{Options: o, a: a, b: b, res: &Result{Report: &Report{Format: ReportFormat, Made: o.Made, Build: o.Build, Settings: o.Settings}}}
	if r.Progress == nil {
		r.Progress = func(string, int, int) {}
	}
	r.rep = r.res.Report
	for _, stage := range []func(context.Context) error{r.check, r.draw, r.score, r.tap, r.compare, r.find, r.judge} {
		if err := stage(ctx); err != nil {
			return nil, err
		}
	}
	return r.res, nil
}

// A run is a comparison under way.
type run struct {
	Options
	a, b Side
	res  *Result
	rep  *Report
	seqs []Sequence

	tapped   []int // sequences that are, the widest gap first
	twin     *Comparison
	twinSays string
}

// stage returns what a side is given to say how far it is.
func (r *run) stage(name string, total int) func(int) {
	r.Progress(name, 0, total)
	return func(n int) { r.Progress(name, n, total) }
}

// check asks both sides what they are, and refuses what would make figures without meaning.
func (r *run) check(ctx context.Context) (err error) {
	r.stage("checking", 0)
	if r.rep.A, err = r.a.About(ctx); err != nil {
		return fmt.Errorf("side A: %w", err)
	}
	if r.rep.B, err = r.b.About(ctx); err != nil {
		return fmt.Errorf("side B: %w", err)
	}
	c, err := runChecks(ctx, r.a, r.b, r.rep.A, r.rep.B, r.Sequences, r.room(), r.Ignore)
	r.rep.Checks = c
	return err
}

// room returns how many tokens are still to be drawn behind each sequence.
func (r *run) room() int {
	if r.Draw == nil {
		return 0
	}
	return r.Draw.MaxNewTokens
}

// draw has A answer the prompts.
func (r *run) draw(ctx context.Context) error {
	r.seqs = r.Sequences
	if r.Draw != nil {
		g, can := r.a.(Generator)
		if !can {
			return fmt.Errorf("side A (%s) draws no responses, want --sequences with some", r.rep.A.Name)
		}
		var err error
		if r.seqs, err = g.Generate(ctx, r.Sequences, *r.Draw, r.stage("A draws", len(r.Sequences))); err != nil {
			return fmt.Errorf("side A: draw: %w", err)
		}
	}
	return r.answered()
}

// answered leaves out sequences without a response.
func (r *run) answered() error {
	var kept []Sequence
	for _, s := range r.seqs {
		if len(s.Response) > 0 {
			kept = append(kept, s)
		}
	}
	if n := len(r.seqs) - len(kept); n > 0 {
		r.note("%d of %d sequences have no response, and are left out", n, len(r.seqs))
	}
	if r.seqs, r.res.Sequences = kept, kept; len(kept) == 0 {
		return errors.New("there is no response to score")
	}
	return nil
}

func (r *run) note(format string, args ...any) {
	r.rep.Notes = append(r.rep.Notes, fmt.Sprintf(format, args...))
}

func (r *run) score(ctx context.Context) (err error) {
	if r.res.A, err = scored(ctx, "side A", r.a, r.seqs, r.stage("A scores", len(r.seqs))); err != nil {
		return err
	}
	r.res.B, err = scored(ctx, "side B", r.b, r.seqs, r.stage("B scores", len(r.seqs)))
	return err
}

// tap records inner results of the sequences with the largest gaps, and takes choices from them where scores tell none.
func (r *run) tap(ctx context.Context) error {
	r.tapped = r.widest(r.Taps)
	for _, side := range []struct {
		name   string
		s      Side
		to     *[]*taps.Set
		scores []Scores
	}{{"A", r.a, &r.res.TapA, r.res.A}, {"B", r.b, &r.res.TapB, r.res.B}} {
		t, can := side.s.(Tapped)
		if !can || len(r.tapped) == 0 {
			continue
		}
		*side.to = make([]*taps.Set, len(r.seqs))
		done := r.stage(side.name+" is tapped", len(r.tapped))
		for n, i := range r.tapped {
			set, err := t.Taps(ctx, r.seqs[i])
			if err != nil {
				return fmt.Errorf("side %s: taps of sequence %s: %w", side.name, r.seqs[i].ID, err)
			}
			(*side.to)[i] = set
			side.scores[i].learn(set)
			done(n + 1)
		}
	}
	return nil
}

// widest returns the n sequences with the largest gaps, the widest first; of equal ones the first.
func (r *run) widest(n int) []int {
	gaps := make([]float64, len(r.seqs))
	order := make([]int, len(r.seqs))
	for i := range r.seqs {
		order[i] = i
		for t, a := range r.res.A[i].LogProbs {
			gaps[i] = max(gaps[i], place{pair: pair{a, r.res.B[i].LogProbs[t]}}.weight())
			if drawn := r.seqs[i].Generated; drawn != nil {
				gaps[i] = max(gaps[i], place{pair: pair{drawn[t], r.res.B[i].LogProbs[t]}}.weight())
			}
		}
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(gaps[y], gaps[x]) })
	return order[:min(n, len(order))]
}

// compare makes the figures.
func (r *run) compare(context.Context) error {
	sampled := r.Draw != nil
	c := Comparing{Name: "scored", Says: "A's scores against B's", Sampled: sampled, Worst: r.Settings.Worst, Tokenizer: r.Tokenizer}
	r.rep.Comparisons = append(r.rep.Comparisons, Compare(c, r.seqs, r.res.A, r.res.B))
	if drawn := drawnScores(r.seqs); drawn != nil {
		c.Name, c.Says = "generated", "A's logprobs as it drew the tokens against B's scores"
		r.rep.Comparisons = append(r.rep.Comparisons, Compare(c, r.seqs, drawn, r.res.B))
		c.Name, c.Says = "decode", "A's logprobs as it drew the tokens against its own scores"
		r.rep.Comparisons = append(r.rep.Comparisons, Compare(c, r.seqs, drawn, r.res.A))
	}
	for i, s := range r.seqs {
		r.rep.Sequences = append(r.rep.Sequences, r.row(s, r.res.A[i], r.res.B[i]))
	}
	return nil
}

// drawnScores returns the logprobs under which responses were drawn, nil unless all have them.
func drawnScores(seqs []Sequence) (out []Scores) {
	for _, s := range seqs {
		if len(s.Generated) != len(s.Response) {
			return nil
		}
		out = append(out, Scores{LogProbs: s.Generated})
	}
	return out
}

func (r *run) row(s Sequence, a, b Scores) SequenceRow {
	row := SequenceRow{
		ID: s.ID, Prompt: text(r.Tokenizer, s.Prompt), PromptIDs: s.Prompt, Response: s.Response,
		A: a.LogProbs, B: b.LogProbs, Generated: s.Generated,
	}
	for i := range s.Response {
		row.Texts = append(row.Texts, text(r.Tokenizer, s.Response[i:i+1]))
	}
	return row
}

// find looks for the op at which the sides part, in the tapped sequences whose gap is beyond the limit, the widest first, until one is found; in the widest alone where
// none is. Where all bits are the same there is nothing to look for.
func (r *run) find(ctx context.Context) error {
	j := r.judging()
	if j.exact() || r.Find == nil || len(r.tapped) == 0 {
		return nil
	}
	beyond := r.beyond(j.limit())
	looked := 0
	done := r.stage("looking for the first difference", len(r.tapped))
	for _, i := range r.tapped {
		if looked > 0 && (!beyond[i] || r.rep.Divergence == nil) {
			break
		}
		if err := r.findIn(ctx, i); err != nil {
			return err
		}
		looked++
		done(looked)
		if d := r.rep.Divergence; d != nil && d.Found {
			break
		}
	}
	if d := r.rep.Divergence; d != nil {
		d.Looked, d.Beyond = looked, len(beyond)
	}
	return nil
}

// beyond returns the sequences with a token beyond a limit in any comparison.
func (r *run) beyond(limit float64) map[int]bool {
	out := map[int]bool{}
	for _, c := range r.rep.Comparisons {
		for i, b := range c.ByPrompt {
			if b.Gap.NonFinite > 0 || float64(b.Gap.Max) > limit {
				out[i] = true
			}
		}
	}
	return out
}

// findIn looks at one sequence. What is found takes the place of what was not.
func (r *run) findIn(ctx context.Context, i int) error {
	tapA, err := r.tapsOfA(ctx, i)
	if err != nil {
		return err
	}
	d, err := r.Find(ctx, Found{r.a, r.rep.A, tapA}, Found{r.b, r.rep.B, at(r.res.TapB, i)})
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		r.note("the first difference could not be looked for: %v", err)
	case d != nil && (d.Found || r.rep.Divergence == nil):
		d.Sequence = i
		r.rep.Divergence = d
	}
	return nil
}

// tapsOfA returns A's taps of a sequence: of scoring, or of drawing where A's own scores of what it drew differ from what it drew it with.
func (r *run) tapsOfA(ctx context.Context, i int) (*taps.Set, error) {
	t, can := r.a.(DrawTapped)
	all := r.rep.Comparisons
	if own := all[len(all)-1]; !can || r.Draw == nil || own.Name != "decode" || own.ByPrompt[i].Gap.Exact == 1 {
		return at(r.res.TapA, i), nil
	}
	set, err := t.DrawnTaps(ctx, r.seqs[i], *r.Draw)
	if err != nil {
		return nil, fmt.Errorf("side A: taps of drawing sequence %s: %w", r.seqs[i].ID, err)
	}
	return set, nil
}

func at(sets []*taps.Set, i int) *taps.Set {
	if i < len(sets) {
		return sets[i]
	}
	return nil
}

func (r *run) judging() judging {
	return judging{r.rep.A, r.rep.B, r.Settings.Tolerance, r.rep.Comparisons, r.twin, r.twinSays, r.rep.Divergence}
}

// judge gives the verdict. Where formats differ a twin shows first what they make; without what it shows an interrupted comparison has no verdict.
func (r *run) judge(ctx context.Context) error {
	err := r.tryTwin(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil && !errors.Is(err, ErrNoTwin):
		r.note("what the formats make could not be computed: %v", err)
	}
	r.rep.Verdict = r.judging().verdict()
	return nil
}

// tryTwin has one side take the other's formats, where they differ and gaps are beyond rounding, and compares the two.
func (r *run) tryTwin(ctx context.Context) error {
	if !DifferentFormats(r.rep.A, r.rep.B) || r.rep.Comparisons[0].Gap.Max <= RoundingLimit {
		return nil
	}
	err := r.twinOf(ctx, "B", r.b, r.rep.A, "A", r.res.A)
	if errors.Is(err, ErrNoTwin) {
		err = r.twinOf(ctx, "A", r.a, r.rep.B, "B", r.res.B)
	}
	return err
}

func (r *run) twinOf(ctx context.Context, name string, s Side, like About, other string, scores []Scores) error {
	t, can := s.(Twinner)
	if !can {
		return ErrNoTwin
	}
	twin, err := t.Twin(ctx, like)
	if err != nil {
		return err
	}
	defer twin.Close()
	got, err := scored(ctx, "side "+name+" with "+other+"'s formats", twin, r.seqs, r.stage(name+" with "+other+"'s formats scores", len(r.seqs)))
	if err != nil {
		return err
	}
	r.twinSays = fmt.Sprintf("%s with %s's formats against %s", name, other, other)
	c := Compare(Comparing{Name: "formats", Says: r.twinSays, Worst: r.Settings.Worst, Tokenizer: r.Tokenizer}, r.seqs, got, scores)
	r.twin = &c
	return nil
}
