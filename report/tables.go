package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"furlong/metrics"
	"furlong/verdict"
)

// An evalTable is a held-out set, evaluation by evaluation.
type evalTable struct {
	Name   string
	Ks     []int
	Rows   []evalRow
	Hidden int // evaluations between those shown
	Diff   []string
	Turned string
}

type evalRow struct {
	Cycle, Version, Truncated, Problems string
	Pass                                []string
}

// evalRows is how many evaluations of a set are shown.
const evalRows = 24

func (r *Run) evalTables() (all []evalTable) {
	for _, s := range r.Sets {
		t := evalTable{Name: verdict.Visible(s.Name), Ks: shownKs(r.data.ks(s.Name))}
		var rows []metrics.Row
		for _, row := range r.data.evals {
			if _, ok := row.Values["eval/"+s.Name+"-pass@1"]; ok {
				rows = append(rows, row)
			}
		}
		for i, row := range rows {
			if spread(i, len(rows), evalRows) {
				t.Rows = append(t.Rows, newEvalRow(row, s.Name, t.Ks))
			}
		}
		t.Hidden = len(rows) - len(t.Rows)
		for _, p := range s.Paired {
			if slices.Contains(t.Ks, p.K) {
				t.Diff = append(t.Diff, fmt.Sprintf("pass@%d from cycle %s to %s: %s", p.K, verdict.Count(float64(p.First)), verdict.Count(float64(p.Last)), verdict.Interval(p.Value, p.Lo, p.Hi, 3)))
			}
		}
		t.Turned = turnedText(s)
		all = append(all, t)
	}
	return all
}

// spread reports whether row i of n is among the most that are shown: evenly, the first and the last always.
func spread(i, n, most int) bool {
	if n <= most || i == 0 || i == n-1 {
		return true
	}
	return i*(most-1)/(n-1) != (i-1)*(most-1)/(n-1)
}

func newEvalRow(row metrics.Row, set string, ks []int) evalRow {
	at := func(figure string) (float64, bool) { v, ok := row.Values["eval/"+set+"-"+figure]; return v, ok }
	e := evalRow{Cycle: verdict.Count(float64(row.Cycle)), Version: verdict.Version(row.Version), Truncated: verdict.Missing, Problems: verdict.Missing}
	for _, k := range ks {
		text := reward(at(fmt.Sprintf("pass@%d", k)))
		lo, ok1 := at(fmt.Sprintf("pass@%d_lo", k))
		hi, ok2 := at(fmt.Sprintf("pass@%d_hi", k))
		if ok1 && ok2 {
			text += fmt.Sprintf(" [%s, %s]", verdict.Table(lo), verdict.Table(hi))
		}
		e.Pass = append(e.Pass, text)
	}
	if v, ok := at("truncated_ratio"); ok {
		e.Truncated = verdict.Share(v)
	}
	if v, ok := at("problems"); ok {
		e.Problems = verdict.Count(v)
	}
	return e
}

// turnedText names the problems that were gained and lost.
func turnedText(s Set) string {
	if len(s.Paired) == 0 {
		return ""
	}
	text := fmt.Sprintf("Problems without a right answer at first and with one at last: %s; the other way round: %s", verdict.Count(float64(len(s.Gained))), verdict.Count(float64(len(s.Lost))))
	if len(s.Lost) > 0 {
		text += " (" + verdict.Short(verdict.Visible(strings.Join(s.Lost, ", ")), 200) + ")"
	}
	return text + "."
}

type alarmRow struct {
	Glyph, Name, When, Text string
	Tone                    verdict.Tone
}

// alarmRows are the alarms that stand, then those that were cleared.
func (r *Run) alarmRows() (all []alarmRow) {
	for _, a := range r.Alarms {
		row := alarmRow{Glyph: "▲", Name: short(a.ID), When: fmt.Sprintf("since cycle %s", verdict.Count(float64(a.Cycle))), Text: short(a.Text), Tone: verdict.Warn}
		if a.Severity == "error" {
			row.Glyph, row.Tone = "✕", verdict.Bad
		}
		if a.Cleared {
			row.When, row.Tone = fmt.Sprintf("cycles %s to %s", verdict.Count(float64(a.Cycle)), verdict.Count(float64(a.Until))), verdict.None
		}
		if len(all) == 100 {
			return append(all, alarmRow{Text: fmt.Sprintf("and %d more in alarms.jsonl", len(r.Alarms)-100)})
		}
		all = append(all, row)
	}
	return all
}

type timeRow struct {
	Name, Seconds, Share string
	Percent              float64 // width of the bar
	Colour               string
}

// timeRows say where the trainer's clock went. The parts add up to it.
func (r *Run) timeRows() (rows []timeRow, total string) {
	all := r.data.sum("perf/step_time")
	if all == 0 {
		return nil, ""
	}
	for i, p := range r.parts() {
		v := r.data.sum(p.series)
		if v == 0 {
			continue
		}
		rows = append(rows, timeRow{p.name, verdict.Seconds(v), verdict.Share(v / all), math.Round(1000*v/all) / 10, "f-" + string(phaseColours[i])})
	}
	return rows, verdict.Seconds(all)
}

type settingRow struct{ Name, Value, Origin string }

// settingRows are the settings that somebody gave: those of the recipe and of the program are left out.
func (r *Run) settingRows() (rows []settingRow) {
	for _, name := range slices.Sorted(maps.Keys(r.Settings)) {
		s := r.Settings[name]
		if s.Origin == "default" || s.Origin == "build" || strings.HasPrefix(s.Origin, "recipe") {
			continue
		}
		value := short(r.setting(name))
		switch {
		case s.Secret:
			value = "not written"
		case s.Value == nil:
			value = verdict.Missing
		}
		rows = append(rows, settingRow{short(name), value, short(s.Origin)})
	}
	return rows
}

// Command returns a command line that asks for the same run: the settings that were given as flags, and the recipe.
func (r *Run) Command() string {
	if len(r.Settings) == 0 {
		return ""
	}
	words := []string{"furlong", "train"}
	if s := r.Settings["recipe"]; s.Origin == "flag" {
		words = append(words, "--recipe", quote(r.setting("recipe")))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Settings)) {
		s := r.Settings[name]
		if s.Origin == "default" || s.Origin == "build" || s.Secret || name == "recipe" || strings.HasPrefix(s.Origin, "recipe") {
			continue
		}
		switch v := s.Value.(type) {
		case nil:
		case bool:
			if v {
				words = append(words, "--"+name)
			} else {
				words = append(words, "--no-"+name)
			}
		default:
			words = append(words, "--"+name, quote(r.setting(name)))
		}
	}
	return verdict.Visible(strings.Join(words, " "))
}

// quote returns a word as a shell takes it.
func quote(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@,+-") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

type accountRow struct{ Name, Tokens, Samples, Prompts string }

// account says what became of every generated token, where the run keeps that account; else what its rows add up to.
func (r *Run) account() (rows []accountRow) {
	row, ok := r.data.newest("account/")
	if !ok {
		return r.sums()
	}
	at := func(name string) string {
		if v, ok := row.Values[name]; ok {
			return verdict.Count(v)
		}
		return verdict.Missing
	}
	for _, kind := range []string{"generated", "trained", "masked", "waiting", "dropped"} {
		rows = append(rows, accountRow{kind, at("account/tokens/" + kind), at("account/samples/" + kind), at("account/prompts/" + kind)})
	}
	for _, name := range slices.Sorted(maps.Keys(row.Values)) {
		if reason, ok := strings.CutPrefix(name, "account/tokens/dropped/"); ok && row.Values[name] > 0 {
			rows = append(rows, accountRow{"dropped: " + reason, at(name), at("account/samples/dropped/" + reason), at("account/prompts/dropped/" + reason)})
		}
	}
	return rows
}

// sums are the tokens of the rows of a run that keeps no account.
func (r *Run) sums() (rows []accountRow) {
	for _, s := range []struct{ name, tokens, samples string }{
		{"generated", "rollout/tokens", "rollout/samples"},
		{"trained", "train/tokens", "train/samples"},
		{"generated and thrown away", "rollout/surplus_discarded_tokens", ""},
		{"rejected by the correction", "train/rejected_tokens", "train/rejected_samples"},
	} {
		if n := r.data.sum(s.tokens); n > 0 {
			samples := verdict.Missing
			if s.samples != "" {
				samples = verdict.Count(r.data.sum(s.samples))
			}
			rows = append(rows, accountRow{s.name, verdict.Count(n), samples, verdict.Missing})
		}
	}
	return rows
}
