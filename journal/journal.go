package journal

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"furlong/metrics"
	"furlong/metrics/run"
	"furlong/metrics/samples"
	"furlong/orchestrator"
	"furlong/rl"
)

// A Journal writes the directory of one run. It implements orchestrator.Watcher.
type Journal struct {
	Dir *run.Dir
	Log *slog.Logger
	// Mixed says that the engines hold weights or attention state in different formats, so that their logprobs may differ.
	Mixed bool
	Load  func() [][]uint32 // tokens of each expert in the last step, [layer][expert]; nil where it is not known
	Tell  func(cycle int, phase string, stats rl.Stats)

	// Blind says why the rollout engine can't be asked to compute samples again, where a Report can't ask it.
	Blind string
	// Parity returns the command that holds the two engines against each other as they are now; nil for its bare name.
	Parity func() string

	raised  map[string]bool
	watched *gapWatch
}

// Phase notes where the run is.
func (j *Journal) Phase(a orchestrator.Action) {
	waits := ""
	if a.Kind == orchestrator.Await || a.Kind == orchestrator.Sync {
		waits = fmt.Sprintf("samples of cycle %d", a.Cycle)
	}
	j.Dir.Progress(a.Cycle, a.Kind.String(), waits)
	j.Tell(a.Cycle, a.Kind.String(), nil)
}

// Span writes what a lane did.
func (j *Journal) Span(cycle int, lane, name string, t0, t1 time.Time, v rl.Version) error {
	s := run.Span{Cycle: cycle, Lane: lane, Name: name, T0: metrics.Unix(t0), T1: metrics.Unix(t1), Version: v}
	if lane == "wait" {
		s.Lane, s.WaitsFor = "trainer", "rollout"
	}
	return j.Dir.WriteSpans(s)
}

// Updated writes what the rollout engine attests of new weights, or why it refused them.
func (j *Journal) Updated(u *orchestrator.Update) error {
	alarm := watch{id: "update", severity: "error"}
	if u.Err != nil {
		j.Log.Error("update refused", "version", u.Version.String(), "cycle", u.Cycle, "why", u.Err.Error())
		return j.raise(alarm, u.Cycle, fmt.Sprintf("version %v does not serve: %v", u.Version, u.Err), nil)
	}
	j.Dir.Serves(u.Version)
	a := u.Attested
	args := []any{"version", u.Version.String(), "cycle", u.Cycle, "state", u.State.String()}
	if a.Version != 0 {
		args = append(args, "effective", a.Effective.String(), "compared", a.Cold)
	} else {
		args = append(args, "attested", false)
	}
	j.Log.Info("weights updated", append(args, "tensors", u.Tensors, "bytes", u.Bytes,
		"took_s", (u.Quantise+u.Gather+u.Apply).Seconds(), "stopped_s", u.Stop.Seconds())...)
	return j.raise(alarm, u.Cycle, "", nil)
}

// Cycle writes everything that is known of a finished cycle.
func (j *Journal) Cycle(r *orchestrator.Report) error {
	if err := j.samples(r.Cycle, "", r.Samples); err != nil {
		return err
	}
	if err := j.experts(r); err != nil {
		return err
	}
	row := metrics.Row{Kind: metrics.Cycle, Cycle: r.Cycle, Step: r.Step, Version: r.Version, Values: r.Stats}
	if err := j.Dir.WriteRow(row); err != nil {
		return err
	}
	j.Tell(r.Cycle, "", r.Stats)
	j.Log.Info("cycle", "cycle", r.Cycle, "reward", r.Stats["rollout/raw_reward"], "gap_max", r.Stats["train/logp_diff/max"],
		"grad_norm", r.Stats["train/grad_norm"], "truncated", r.Stats["rollout/truncated_ratio"], "step_time_s", r.Stats["perf/step_time"], "version", r.Version.String())
	return j.alarms(r)
}

func (j *Journal) samples(cycle int, eval string, all []*rl.Sample) error {
	b := samples.Batch{Cycle: cycle, Eval: eval}
	for _, s := range all {
		b.Samples = append(b.Samples, samples.Sample{Sample: s, Mask: s.LossMask})
	}
	return j.Dir.WriteSamples(b)
}

// experts writes the trainer's expert load. Rollout runs the same blocks on the same tokens.
func (j *Journal) experts(r *orchestrator.Report) error {
	if j.Load == nil {
		return nil
	}
	load := j.Load()
	if len(load) == 0 {
		return nil
	}
	e := run.Experts{Cycle: r.Cycle, Version: r.Version, Sides: 1, Layers: len(load), Experts: len(load[0])}
	for i, l := range load {
		e.Tokens = append(e.Tokens, l...)
		e.Agreement = append(e.Agreement, agreement(r.Stats, i))
	}
	return j.Dir.WriteExperts(e)
}

// agreement returns what the engines' routers have in common in a layer, NaN where that is not known.
func agreement(s rl.Stats, layer int) float32 {
	if v, ok := s[fmt.Sprintf("moe/router_agreement/%d", layer)]; ok {
		return float32(v)
	}
	return nan
}

// An Evaluation is what was found of one set, and the samples that it rests on.
type Evaluation struct {
	run.Evaluation
	Drawn []*rl.Sample
}

// Evaluated writes the evaluations of one cycle: their samples, one row for all, the problems of each. Problems come last, since a resumed run takes them
// to mean that all is there.
func (j *Journal) Evaluated(all []Evaluation, step int, values map[string]float64) error {
	if len(all) == 0 {
		return nil
	}
	for _, e := range all {
		if err := j.samples(e.Cycle, e.Name, e.Drawn); err != nil {
			return err
		}
	}
	row := metrics.Row{Kind: metrics.Eval, Cycle: all[0].Cycle, Step: step, Version: all[0].Version, Values: values}
	if err := j.Dir.WriteRow(row); err != nil {
		return err
	}
	for _, e := range all {
		if err := j.Dir.WriteEval(e.Evaluation); err != nil {
			return err
		}
		args := []any{"set", e.Name, "cycle", e.Cycle}
		for _, k := range []string{"pass@1", "pass@8", "truncated_ratio"} {
			if v, ok := values["eval/"+e.Name+"-"+k]; ok {
				args = append(args, strings.ReplaceAll(k, "@", "_at_"), v)
			}
		}
		j.Log.Info("evaluation", args...)
	}
	return nil
}
