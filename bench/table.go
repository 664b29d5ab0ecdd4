package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Print writes r for people.
func (r *Report) Print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n%s\n\n", r.Machine, r.Model, r.Build)
	fmt.Fprintln(&b, r.Rates)
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, t := range r.tables() {
		fmt.Fprintf(tw, "\n%s\n", strings.Join(t.head, "\t"))
		for _, row := range t.rows {
			fmt.Fprintln(tw, strings.Join(row, "\t"))
		}
		if t.note != "" {
			fmt.Fprintf(tw, "%s\n", t.note)
		}
	}
	tw.Flush()
	_, err := io.WriteString(w, b.String())
	return err
}

// A table is words in rows.
type table struct {
	name string
	head []string
	rows [][]string
	note string
}

// tables returns what there is, in order: works, growth, memory.
func (r *Report) tables() (out []table) {
	for _, t := range []table{r.works(), r.growth(), r.memory()} {
		if len(t.rows) > 0 {
			out = append(out, t)
		}
	}
	return out
}

func (r *Report) works() table {
	t := table{name: "works", head: []string{"work", "shape", "tokens/s", "min", "max", "ms a step", "floor", "of floor", "of floor then", "peak memory"}}
	targets := false
	for _, x := range r.Results {
		targets = targets || x.Target > 0
	}
	if targets {
		t.head = append(t.head, "target", "peer")
	}
	for _, x := range r.Results {
		row := []string{
			x.Work, x.Shape, count(x.Rate.Median), count(x.Rate.Min), count(x.Rate.Max), fmt.Sprintf("%.2f", x.StepMS),
			count(x.FloorRun), percent(x.Share), then(x.ShareThen), mebibytes(x.Peak),
		}
		if targets {
			row = append(row, orNone(x.Target), orNone(x.Peer))
		}
		t.rows = append(t.rows, row)
	}
	t.note = fmt.Sprintf("median, least and most of %d runs; floors are explained by furlong help bench", r.Runs)
	return t
}

// then returns a share by the rates of the time, where there is one.
func then(share float64) string {
	if share == 0 {
		return "-"
	}
	return percent(share)
}

func (r *Report) growth() table {
	t := table{name: "growth", head: []string{"context", "prompt us/token", "decode us/token", "train us/token", "peak memory"}}
	if r.Growth == nil {
		return t
	}
	for _, p := range r.Growth.Points {
		t.rows = append(t.rows, []string{fmt.Sprint(p.Context), micro(p.PromptUS), micro(p.DecodeUS), micro(p.TrainUS), mebibytes(p.Peak)})
	}
	t.note = fmt.Sprintf("whole time grows with the length to the power of %.2f (prompt), %.2f (decode), %.2f (train)",
		r.Growth.PromptPower, r.Growth.DecodePower, r.Growth.TrainPower)
	return t
}

func (r *Report) memory() table {
	t := table{name: "memory", head: []string{"cycle", "held after it", "peak in it"}}
	for _, h := range r.Memory {
		t.rows = append(t.rows, []string{fmt.Sprint(h.Cycle), mebibytes(h.Resident), mebibytes(h.Peak)})
	}
	if n := len(r.Memory); n > 1 {
		grown := float64(r.Memory[n-1].Resident-r.Memory[1].Resident) / (1 << 20)
		t.note = fmt.Sprintf("held after cycle %d: %+.1f MiB against cycle %d", r.Memory[n-1].Cycle, grown, r.Memory[1].Cycle)
	}
	return t
}

// String says it in a line.
func (m Machine) String() string {
	s := fmt.Sprintf("%s, %d cores, %d threads, %s, backend %s", m.Processor, m.Cores, m.Threads, m.System, m.Backend)
	if m.Unit != "" {
		s += " (" + m.Unit + ")"
	}
	if m.Load >= 0 {
		s += fmt.Sprintf(", load at the start %.1f", m.Load)
	}
	return s
}

// String says it in a line.
func (m ModelInfo) String() string {
	return fmt.Sprintf("model %s, %s, %s parameters, %s on a token, %s", m.Name, m.Format, count(float64(m.Parameters)), count(float64(m.Active)), mebibytes(int64(m.Bytes)))
}

// String says it in a line.
func (b Build) String() string {
	s := "revision not recorded (build with go build in a clone)"
	if b.Revision != "" {
		s = "revision " + b.Revision
	}
	if b.Changed != nil && *b.Changed {
		s += ", changed since"
	}
	return s + ", " + b.Go
}

// String says it in a line.
func (r Rates) String() string {
	return fmt.Sprintf("matrix product %.1f GFLOP/s (median %.1f), copy %.1f GB/s (median %.1f)",
		r.Matrix.Best/1e9, r.Matrix.Median/1e9, r.Copy.Best/1e9, r.Copy.Median/1e9)
}

// count writes a whole number with commas.
func count(v float64) string {
	s := fmt.Sprintf("%.0f", v)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// orNone is count, and a dash for 0.
func orNone(v float64) string {
	if v == 0 {
		return "-"
	}
	return count(v)
}

func percent(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }

func micro(v float64) string { return fmt.Sprintf("%.1f", v) }

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
