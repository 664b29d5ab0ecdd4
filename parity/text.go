package parity

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// Text writes the report for a terminal: the verdict first, then the figures in tables.
func (r *Report) Text(w io.Writer) error {
	p := &page{}
	p.sides(r.A, r.B, r.Settings)
	p.verdict(r.Verdict)
	for _, n := range r.Notes {
		p.line("note: %s", n)
	}
	for _, c := range r.Checks {
		if c.Ignored || c.OK && c.Says != "" {
			p.line("%s: %s%s", c.Name, c.Says, ignored(c))
		}
	}
	p.gaps(r.Comparisons)
	if len(r.Comparisons) > 0 {
		p.comparison(r.Comparisons[0])
	}
	p.divergence(r.Divergence)
	_, err := io.WriteString(w, p.b.String())
	return err
}

func ignored(c Check) string {
	if c.Ignored {
		return " (ignored, as --ignore says)"
	}
	return ""
}

// A page gathers text.
type page struct{ b strings.Builder }

func (p *page) line(format string, args ...any) { fmt.Fprintf(&p.b, format+"\n", args...) }

// table writes rows whose cells stand in columns.
func (p *page) table(rows [][]string) {
	tw := tabwriter.NewWriter(&p.b, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range rows {
		for i, cell := range row {
			if i > 0 {
				cell = strings.TrimSpace(cell) + "\t"
			} else {
				cell = pad(cell, 15)
			}
			fmt.Fprint(tw, cell)
		}
		fmt.Fprintln(tw)
	}
	tw.Flush()
}

// pad fills a row's name up, so that it stands at the left while figures stand at the right.
func pad(s string, n int) string {
	if have := utf8.RuneCountInString(s); have < n {
		s += strings.Repeat(" ", n-have)
	}
	return s + "\t"
}

func (p *page) sides(a, b About, s Settings) {
	p.line("A  %s", a.words())
	p.line("B  %s", b.words())
	if s.Source != "" {
		p.line("%s", s.Source)
	}
	p.line("")
}

// words sums a side up.
func (a About) words() string {
	out := []string{a.Name}
	for _, s := range []string{a.formats(), a.Backend} {
		if s != "" {
			out = append(out, s)
		}
	}
	if a.Version != "" {
		out = append(out, "version "+a.Version)
	}
	return strings.Join(out, ", ")
}

func (p *page) verdict(v Verdict) {
	says := v.Says
	if says != "" {
		says = strings.ToUpper(says[:1]) + says[1:]
	}
	p.line("%s.", strings.TrimSuffix(says, "."))
	for _, m := range v.More {
		p.line("  %s", m)
	}
}

func (p *page) gaps(all []Comparison) {
	rows := [][]string{{"|gap|, nats", "tokens", "same bits", "mean", "signed", "p50", "p95", "p99", "p99.9", "max", ">0.5", ">2"}}
	for _, c := range all {
		rows = append(rows, c.Gap.row(c.Name))
	}
	p.line("")
	p.table(rows)
	for _, c := range all {
		if c.Gap.NonFinite > 0 {
			p.line("%s: %d tokens without a finite logprob, beside these figures", c.Name, c.Gap.NonFinite)
		}
	}
}

func (g Gap) row(name string) []string {
	return []string{
		name, strconv.Itoa(g.Tokens), percent(g.Exact), digits(g.Mean), digits(g.Signed), digits(g.P50), digits(g.P95), digits(g.P99), digits(g.P999), digits(g.Max),
		percent(g.Over05), percent(g.Over2),
	}
}

// digits prints a figure in three digits.
func digits(f Figure) string {
	switch v := float64(f); {
	case math.IsNaN(v):
		return "-"
	case v == 0:
		return "0"
	default:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
}

// percent prints a share such that only all of it is 100%, and only none of it 0%.
func percent(f Figure) string {
	v := float64(f)
	switch {
	case math.IsNaN(v):
		return "-"
	case v == 0 || v == 1:
		return fmt.Sprintf("%.0f%%", 100*v)
	case v > 0.9999:
		return "99.99%"
	case v < 0.0001:
		return "<0.01%"
	}
	return strconv.FormatFloat(math.Trunc(10000*v)/100, 'f', -1, 64) + "%"
}

// comparison writes where the gap is, unless there is none.
func (p *page) comparison(c Comparison) {
	if c.Sampled {
		p.line("KL(A||B): k1 %s, k3 %s.  p(B)/p(A): mean %.6g, %.4g to %.4g.  Correlation of probabilities %.6f.",
			digits(c.K1), digits(c.K3), float64(c.Ratio.Mean), float64(c.Ratio.Min), float64(c.Ratio.Max), float64(c.Correlation))
	} else {
		p.line("p(B)/p(A): mean %.6g, %.4g to %.4g.  Correlation of probabilities %.6f.", float64(c.Ratio.Mean), float64(c.Ratio.Min), float64(c.Ratio.Max), float64(c.Correlation))
	}
	if c.Top1 != nil {
		p.line("The likeliest token is the same at %s of %d positions.", percent(Figure(share(c.Top1.Equal, c.Top1.Of))), c.Top1.Of)
	}
	p.agreement("experts", c.Experts)
	p.agreement("indexer", c.Index)
	if c.Gap.Exact == 1 {
		return
	}
	p.buckets("by position", c.ByPosition)
	p.buckets("by p(A)", c.ByProbability)
	p.buckets("by class", c.ByClass)
	p.worst(c.Worst)
}

// agreement tells of choices: in one line where all are equal, else layer by layer.
func (p *page) agreement(what string, all []Agreement) {
	if len(all) == 0 {
		return
	}
	equal, tokens := 0, 0
	for _, a := range all {
		equal, tokens = equal+a.Equal, tokens+a.Tokens
	}
	if equal == tokens {
		p.line("The %s chose the same in all %d layers for all tokens (%d choices).", what, len(all), tokens)
		return
	}
	rows := [][]string{{what, "tokens", "equal sets", "overlap"}}
	for _, a := range all {
		rows = append(rows, []string{fmt.Sprintf("layer %d", a.Layer), strconv.Itoa(a.Tokens), percent(Figure(share(a.Equal, a.Tokens))), percent(a.Overlap)})
	}
	p.table(rows)
}

// barWidth is that of the longest bar.
const barWidth = 24

func (p *page) buckets(title string, all []Bucket) {
	most := 0.0
	for _, b := range all {
		if m := float64(b.Gap.Mean); m > most {
			most = m
		}
	}
	rows := [][]string{{title, "tokens", "same bits", "mean", "p99", "max"}}
	for _, b := range all {
		g := b.Gap
		rows = append(rows, []string{b.Name, strconv.Itoa(g.Tokens), percent(g.Exact), digits(g.Mean), digits(g.P99), digits(g.Max)})
	}
	p.line("")
	at := p.b.Len()
	p.table(rows)
	p.bars(at, all, most)
}

// bars adds a bar of the mean to each row of the table that begins at a place of the text.
func (p *page) bars(at int, all []Bucket, most float64) {
	text := p.b.String()
	lines := strings.Split(strings.TrimSuffix(text[at:], "\n"), "\n")
	for i, b := range all {
		if m := float64(b.Gap.Mean); m > 0 && most > 0 {
			lines[i+1] += "  " + strings.Repeat("#", max(1, int(math.Round(barWidth*m/most))))
		}
	}
	p.b.Reset()
	p.b.WriteString(text[:at] + strings.Join(lines, "\n") + "\n")
}

// mostWorst is how many tokens are told on a terminal.
const mostWorst = 8

func (p *page) worst(all []WorstToken) {
	if len(all) == 0 {
		return
	}
	p.line("")
	p.line("The largest gaps, in context:")
	for _, t := range all[:min(len(all), mostWorst)] {
		p.line("  %9s  A %-11s B %-11s sequence %d, position %d: %s[%s]%s", digits(t.Gap), beside(t.A, t.Gap), beside(t.B, t.Gap), t.Sequence, t.Position,
			last(t.Before, 28), visible(t.Text), first(t.After, 12))
	}
}

// beside prints a logprob in as many places as show a gap in three digits.
func beside(lp, gap Figure) string {
	size := math.Abs(float64(gap))
	if !(size > 0 && size < 1) || math.IsInf(float64(lp), 0) {
		return digits(lp)
	}
	return strconv.FormatFloat(float64(lp), 'f', min(9, 2+int(math.Ceil(-math.Log10(size)))), 64)
}

// visible spells what would break a line.
func visible(s string) string {
	if s == "" {
		return "special"
	}
	q := strconv.Quote(s)
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(q[1 : len(q)-1])
}

func last(s string, n int) string {
	r := []rune(s)
	return strings.TrimSuffix(visible(string(r[max(0, len(r)-n):])), "special")
}

func first(s string, n int) string {
	r := []rune(s)
	return strings.TrimSuffix(visible(string(r[:min(len(r), n)])), "special")
}

// mostOps is how many boundaries over the limit are told on a terminal.
const mostOps = 6

func (p *page) divergence(d *Divergence) {
	if d == nil {
		return
	}
	p.line("")
	by := "the judge " + d.Judge
	if d.Method != "forced" {
		by = "growth from op to op, which is weaker than a judge"
	}
	p.line("Looked for op by op in sequence %d, by %s: %d boundaries.", d.Sequence, by, len(d.Ops))
	rows := [][]string{{"op", "layer", "of equal inputs", "limit", "as it is"}}
	for _, o := range d.Ops {
		if o.Over && len(rows) <= mostOps {
			rows = append(rows, []string{o.Op, strconv.Itoa(o.Layer), digits(o.Local), digits(o.Limit), digits(o.Inherited)})
		}
	}
	if len(rows) > 1 {
		p.table(rows)
	}
}

// Text writes what came of holding a side against itself.
func (r *SelfReport) Text(w io.Writer) error {
	p := &page{}
	p.line("%s", r.Side.words())
	if r.Settings.Source != "" {
		p.line("%s", r.Settings.Source)
	}
	p.line("")
	p.verdict(r.Verdict)
	for _, n := range r.Notes {
		p.line("note: %s", n)
	}
	p.line("")
	p.conditions(r.Conditions)
	_, err := io.WriteString(w, p.b.String())
	return err
}

func (p *page) conditions(all []Condition) {
	wide := 0
	for _, c := range all {
		wide = max(wide, utf8.RuneCountInString(c.Name))
	}
	p.line("%-*s  %8s  %9s  %9s  %s", wide, "condition", "tokens", "same bits", "max gap", "first token that differs")
	for _, c := range all {
		where := ""
		switch {
		case c.Failed != "":
			where = "could not be tried: " + c.Failed
		case c.First != nil:
			where = fmt.Sprintf("sequence %d, position %d: %s[%s]", c.First.Sequence, c.First.Position, last(c.First.Before, 20), visible(c.First.Text))
		}
		if c.Failed != "" {
			p.line("%-*s  %8s  %9s  %9s  %s", wide, c.Name, "-", "-", "-", where)
			continue
		}
		p.line("%s", strings.TrimRight(fmt.Sprintf("%-*s  %8d  %9s  %9s  %s", wide, c.Name, c.Gap.Tokens, percent(c.Gap.Exact), digits(c.Gap.Max), where), " "))
	}
}
