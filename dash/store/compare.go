package store

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"furlong/dash/api"
	"furlong/metrics/run"
)

// A group of settings, in the order in which they matter to whoever compares two runs.
var settingGroups = []struct {
	name string
	of   *regexp.Regexp
}{
	{"", regexp.MustCompile(`^(run-dir|run-id|resume|save|save-hf|json|quiet|print-json|config|extra-args|dash|dash-.*|use-tensorboard|use-wandb|wandb-.*|use-prometheus|prometheus-.*|keep-samples|save-.*|dump-details|.*api-key.*)$`)},
	{"data", regexp.MustCompile(`^(prompt-data.*|.*-key|apply-chat-.*|rollout-shuffle|rollout-max-prompt-len|allow-empty-labels|drop-duplicate-prompts|max-line-bytes|eval-.*|n-samples-per-eval-prompt|skip-eval-.*|rollout-seed|num-epoch)$`)},
	{"sampling", regexp.MustCompile(`^(rollout-(temperature|top-p|top-k|min-p|max-response-len|batch-size)|n-samples-per-prompt|over-sampling-.*|dynamic-.*|max-resample-rounds|partial-rollout|context-length)$`)},
	{"model", regexp.MustCompile(`^(hf-checkpoint|ref-load|load|ckpt-step|dtype|.*-format|moe-.*|opd-teacher-load)$`)},
	{"machine", regexp.MustCompile(`^(threads|backend|build|sglang-.*|rollout-(url|concurrency|retries|wait|bucket-bytes|page.*|recent-tokens)|grader-(workers|timeout)|max-tokens-per-gpu|recompute|update-weight.*|prompt-data-(memory|workers)|async-max-.*|max-running-.*|max-queued-.*)$`)},
	{"algorithm", regexp.MustCompile(`.`)},
}

// groupOrder is the order in which groups are shown.
var groupOrder = []string{"algorithm", "data", "sampling", "model", "machine"}

// groupOf returns the group of a setting, "" for one that says where a run is and not what it does.
func groupOf(name string) string {
	for _, g := range settingGroups {
		if g.of.MatchString(name) {
			return g.name
		}
	}
	return ""
}

// Compare answers how two runs differ.
func Compare(a, b *Run, ask Ask) (*api.Compare, error) {
	if ask.X == "time" {
		return nil, asked(Wrong, "x is time, want cycle, step or tokens: the clocks of two runs have nothing in common")
	}
	heads, err := both(a, b, func(r *Run) (*api.Head, error) { return r.Head(true) })
	if err != nil {
		return nil, err
	}
	rows, err := both(a, b, func(r *Run) (*api.Rows, error) { return r.Rows(ask) })
	if err != nil {
		return nil, err
	}
	out := &api.Compare{Differ: []api.DifferGroup{}, Warn: []string{}, Evals: []api.EvalPair{}, Keys: []string{}, RowsA: *rows[0], RowsB: *rows[1]}
	for _, k := range heads[0].Keys {
		if slices.ContainsFunc(heads[1].Keys, func(o api.Key) bool { return o.Name == k.Name }) {
			out.Keys = append(out.Keys, k.Name)
		}
	}
	heads[0].Keys, heads[1].Keys = nil, nil
	out.A, out.B = *heads[0], *heads[1]
	compareSettings(out, a, b)
	return out, compareEvals(out, a, b)
}

// problemsOf are the lists in which an answer names what can't be read of either run.
func problemsOf(out *api.Compare) [2]*[]api.Problem {
	return [2]*[]api.Problem{&out.A.Problems, &out.B.Problems}
}

func both[T any](a, b *Run, of func(*Run) (T, error)) (out [2]T, err error) {
	for i, r := range []*Run{a, b} {
		if out[i], err = of(r); err != nil {
			return out, err
		}
	}
	return out, nil
}

// compareSettings lists what differs. Settings that can't be read are named and compared with nothing.
func compareSettings(out *api.Compare, a, b *Run) {
	var all [2]map[string]setting
	for i, r := range []*Run{a, b} {
		var err error
		if all[i], err = r.readSettings(run.ConfigFile); err != nil {
			to := problemsOf(out)[i]
			*to = append(*to, api.Problem{File: run.ConfigFile, Error: err.Error(), N: 1})
		}
	}
	if all[0] == nil || all[1] == nil {
		return
	}
	by := map[string][]api.Differ{}
	for _, name := range names(all[0], all[1]) {
		x, y := all[0][name], all[1][name]
		g := groupOf(name)
		switch {
		case g == "":
		case sameJSON(x.Value, y.Value):
			out.Same++
		default:
			by[g] = append(by[g], api.Differ{Name: name, A: x.Value, B: y.Value, OriginA: x.Origin, OriginB: y.Origin})
		}
	}
	for _, g := range groupOrder {
		if len(by[g]) > 0 {
			out.Differ = append(out.Differ, api.DifferGroup{Group: g, Settings: by[g]})
		}
	}
	out.Warn = append(out.Warn, warnings(by)...)
}

// hard are the settings whose difference makes curves mean different things.
var hard = []struct{ name, why string }{
	{"n-samples-per-prompt", "groups have unequal sizes: reward and zero-signal groups do not compare one to one"},
	{"rollout-batch-size", "cycles have unequal numbers of prompts: compare by tokens or steps"},
	{"prompt-data", "prompts are unequal: training reward does not compare, held-out figures may"},
	{"rollout-temperature", "samples are drawn at unequal temperatures"},
	{"rollout-top-p", "samples are cut differently by top-p"},
	{"rollout-top-k", "samples are cut differently by top-k"},
	{"rollout-max-response-len", "answers are cut at unequal lengths"},
	{"eval-prompt-data", "held-out problems are unequal"},
	{"eval-temperature", "held-out answers are drawn at unequal temperatures"},
	{"rm-type", "answers are graded differently"},
}

func warnings(by map[string][]api.Differ) []string {
	var out []string
	for _, h := range hard {
		for _, g := range by {
			if i := slices.IndexFunc(g, func(d api.Differ) bool { return d.Name == h.name }); i >= 0 {
				out = append(out, fmt.Sprintf("%s (%s is %s and %s).", upper(h.why), h.name, text(g[i].A), text(g[i].B)))
			}
		}
	}
	return out
}

// text is a value as a sentence says it.
func text(v []byte) string {
	if v == nil {
		return "not set"
	}
	return string(v)
}

// compareEvals pairs the evaluations of one set by both runs: those of the last cycle that both have, or else each's last. Those that can't be read count as not there, and are named.
func compareEvals(out *api.Compare, a, b *Run) error {
	var have [2]map[string][]int
	for i, r := range []*Run{a, b} {
		var bad []api.Problem
		have[i], bad = r.readable()
		to := problemsOf(out)[i]
		*to = append(*to, bad...)
	}
	for _, name := range slices.Sorted(maps.Keys(have[0])) {
		ca, cb := have[0][name], have[1][name]
		if len(ca) == 0 || len(cb) == 0 {
			continue
		}
		at, bt := lastOfBoth(ca, cb)
		x, errA := a.readEval(name, at)
		y, errB := b.readEval(name, bt)
		if err := cmp.Or(errA, errB); err != nil {
			return err
		}
		p, err := paired(x, y, 1)
		if err != nil {
			return err
		}
		out.Evals = append(out.Evals, api.EvalPair{Name: name, CycleA: at, CycleB: bt, Paired: p})
	}
	return nil
}

// readable returns the cycles of the evaluations that can be read, by set, and what can't.
func (r *Run) readable() (map[string][]int, []api.Problem) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out, bad := map[string][]int{}, []api.Problem{}
	for _, name := range r.evalNames() {
		all, odd := r.tallied(name)
		bad = append(bad, odd...)
		for _, e := range all {
			out[name] = append(out[name], e.Cycle)
		}
	}
	return out, bad
}

// lastOfBoth returns the last cycle of two lists if there is one, else the last of each.
func lastOfBoth(a, b []int) (int, int) {
	for _, c := range slices.Backward(a) {
		if _, ok := slices.BinarySearch(b, c); ok {
			return c, c
		}
	}
	return a[len(a)-1], b[len(b)-1]
}
