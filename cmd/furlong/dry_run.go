package main

import (
	"encoding/json"
	"fmt"
	"slices"

	"furlong/config"
	"furlong/dtype"
	"furlong/layout"
	"furlong/model/dsv4"
)

// A dryRun is what a run would be: everything that follows from its flags and the shape of its model.
type dryRun struct {
	Recipe  string         `json:"recipe"`
	Presume string         `json:"recipe_is_why,omitempty"` // nobody named it
	Model   dryModel       `json:"model"`
	Layout  layout.Plan    `json:"layout"`
	Batch   dryBatch       `json:"batch"`
	Lengths dryLengths     `json:"lengths"`
	Formats dryFormats     `json:"formats"`
	Memory  dryMemory      `json:"memory"`
	Roles   []dryRole      `json:"roles"`
	Expands []dryExpansion `json:"stands_for"`
	Idle    []dryNote      `json:"without_effect"`
	Held    []dryNote      `json:"so_in_any_case"`
	InWay   []string       `json:"in_the_way"` // why this run cannot begin here
	Command []string       `json:"command"`    // the same run without a recipe
	// Settings are those that some layer gave.
	Settings map[string]config.Printed `json:"settings"`

	loop string
}

// A dryModel is the shape of the model.
type dryModel struct {
	Source     string       `json:"source"`
	Layers     int          `json:"layers"`
	Kinds      [3]int       `json:"layers_by_attention"` // window, indexed, dense
	Hashed     int          `json:"layers_routed_by_table"`
	Hidden     int          `json:"hidden"`
	Heads      int          `json:"heads"`
	HeadDim    int          `json:"head_dim"`
	Experts    int          `json:"experts"`
	TopK       int          `json:"experts_per_token"`
	Streams    int          `json:"streams"`
	Vocab      int          `json:"vocabulary"`
	Positions  int          `json:"positions"`
	Parameters layout.Count `json:"parameters"`
}

// A dryBatch is the arithmetic of a cycle.
type dryBatch struct {
	Cycles   int `json:"cycles"`
	Prompts  int `json:"prompts_per_cycle"`
	Each     int `json:"samples_per_prompt"`
	Samples  int `json:"samples_per_cycle"`
	Steps    int `json:"optimizer_steps_per_cycle"`
	Global   int `json:"samples_per_step"`
	PerRank  int `json:"samples_per_step_and_data_parallel_rank"`
	AllSteps int `json:"optimizer_steps"`
	Micro    int `json:"tokens_per_micro_batch"`

	Packings []layout.Packing `json:"micro_batches,omitempty"` // where there are several data parallel ranks
}

// dryLengths are limits in tokens.
type dryLengths struct {
	Context  int `json:"context"`
	Response int `json:"response"`
	Eval     int `json:"eval_response,omitempty"`
	Prompt   int `json:"longest_prompt"` // that leaves room for a whole response
}

// dryFormats are how numbers are held.
type dryFormats struct {
	Weights   string `json:"weights"`
	Actor     string `json:"actor"`
	ActorKV   string `json:"actor_kv"`
	Rollout   string `json:"rollout"`
	RolloutKV string `json:"rollout_kv"`
}

// dryMemory is what devices hold, as far as shapes tell.
type dryMemory struct {
	Note      string        `json:"note"`
	Device    int64         `json:"device_bytes,omitempty"`
	Train     []layout.Load `json:"train_device_of_stage"`
	Rollout   layout.Load   `json:"rollout_device"`
	Offloaded int64         `json:"offloaded_per_machine,omitempty"`
	PerToken  float64       `json:"attention_bytes_per_token"`
}

// A dryRole is a part of a run and where it would be.
type dryRole struct {
	Role  string `json:"role"`
	Where string `json:"where"`
	What  string `json:"what"`
}

type dryExpansion struct {
	Flag   string   `json:"flag"`
	Origin string   `json:"origin"`
	Flags  []string `json:"flags"`
}

type dryNote struct {
	Flag   string `json:"flag"`
	Origin string `json:"origin"`
	Why    string `json:"why"`
}

// dryRun prints what a run would be, without a device, a checkpoint or a directory.
func (e *env) dryRun(f *trainFlags, set *config.Set) error {
	d, err := f.dry(set)
	if err != nil {
		return err
	}
	if f.run.JSON {
		enc := json.NewEncoder(e.stdout)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return enc.Encode(d)
	}
	return d.print(e.stdout)
}

// dry works out what a run would be.
func (f *trainFlags) dry(set *config.Set) (*dryRun, error) {
	cfg, from, err := f.shape()
	if err != nil {
		return nil, err
	}
	plan, err := f.line.Layout.Plan(len(cfg.Layers))
	if err != nil {
		return nil, err
	}
	shape := layout.ShapeOf(cfg)
	d := &dryRun{
		Recipe: set.Recipe(), Presume: set.Presumed().Why, Model: dryModelOf(shape, from), Layout: plan, Batch: f.dryBatch(plan), Lengths: f.dryLengths(),
		Formats: dryFormats{Weights: f.model.Format, Actor: f.train.Format, ActorKV: f.train.KV, Rollout: f.rollout.Format, RolloutKV: f.rollout.KV},
		Memory:  f.dryMemory(plan, shape), Roles: f.dryRoles(plan), Settings: map[string]config.Printed{}, loop: f.loop.Loop,
		Command: append([]string{"furlong", "train", "--recipe", "none"}, slices.DeleteFunc(set.Given(), func(w string) bool { return w == "--dry-run" || w == "--json" })...),
	}
	d.read(set)
	if d.Batch.Packings, err = plan.Pack(f.dryStep(d.Batch, d.Lengths)); err != nil {
		d.InWay = append(d.InWay, err.Error())
	}
	for _, err := range append(f.hindrances(set), config.Problems(f.fits(set, cfg))...) {
		d.InWay = append(d.InWay, err.Error())
	}
	for _, l := range append(d.Memory.Train, d.Memory.Rollout) {
		if !plan.Fits(l) {
			d.InWay = append(d.InWay, fmt.Sprintf("a device would hold %s, and --gpu-memory is %s", inBytes(l.Total), inBytes(f.line.Layout.Memory)))
		}
	}
	return d, nil
}

// fits reports what a launch line says of a model that the model is not, and a context it does not hold.
func (f *trainFlags) fits(set *config.Set, cfg dsv4.Config) error {
	if f.rollout.Context > cfg.MaxPositions {
		return fmt.Errorf("--context-length is %d, want at most %d, the model's max_position_embeddings", f.rollout.Context, cfg.MaxPositions)
	}
	return checkClaims(set, cfg)
}

// read takes over what the set tells of its flags.
func (d *dryRun) read(set *config.Set) {
	for name, v := range set.Values() {
		if v.Origin != "default" && !slices.Contains([]string{"dry-run", "json", "recipe", "config", "extra-args"}, name) {
			d.Settings[name] = v
		}
	}
	for _, x := range set.Expansions() {
		if len(x.Flags) > 0 {
			d.Expands = append(d.Expands, dryExpansion{Flag: flagText(x.Flag, x.Value), Origin: x.Origin, Flags: x.Flags})
		}
	}
	for _, n := range set.Notes() {
		note := dryNote{Flag: noteText(n), Origin: n.Origin, Why: n.Why}
		if n.Held {
			d.Held = append(d.Held, note)
			continue
		}
		d.Idle = append(d.Idle, note)
	}
}

func dryModelOf(s layout.Shape, from string) dryModel {
	c := s.Config()
	m := dryModel{
		Source: from, Layers: len(c.Layers), Hashed: hashed(c), Hidden: c.Hidden, Heads: c.Heads, HeadDim: c.HeadDim, Experts: c.Experts, TopK: c.TopK,
		Streams: c.Streams, Vocab: c.Vocab, Positions: c.MaxPositions, Parameters: s.Count(),
	}
	for _, l := range c.Layers {
		m.Kinds[l.Attention]++
	}
	return m
}

func (f *trainFlags) dryBatch(p layout.Plan) dryBatch {
	b := dryBatch{Cycles: f.loop.Cycles, Prompts: f.loop.Batch, Each: f.loop.PerPrompt, Steps: f.batch.Steps, Micro: f.train.MaxTokens}
	b.Samples = b.Prompts * b.Each
	b.Global, b.AllSteps = b.Samples/b.Steps, b.Cycles*b.Steps
	b.PerRank = b.Global / p.Data
	return b
}

// dryStep returns what the micro-batches of a step depend on.
func (f *trainFlags) dryStep(b dryBatch, l dryLengths) layout.Step {
	return layout.Step{Samples: b.Global, Tokens: b.Micro, Longest: l.Context, Response: l.Response}
}

func (f *trainFlags) dryLengths() dryLengths {
	l := dryLengths{Context: f.rollout.Context, Response: f.sample.MaxTokens, Prompt: f.rollout.Context - f.sample.MaxTokens}
	if f.eval.name(f.data) != "" {
		l.Eval = f.eval.sample(f.sample).MaxTokens
	}
	return l
}

// dryMemory estimates what devices hold.
func (f *trainFlags) dryMemory(p layout.Plan, s layout.Shape) dryMemory {
	job := layout.Job{
		Tokens: f.train.MaxTokens, Recompute: f.train.Recompute, Weights: f.model.format(),
		Running: f.rollout.MaxRunning, Length: f.rollout.Context, TotalTokens: f.rollout.TotalTokens, Format: formatOf(f.rollout), KV: f.rollout.KV,
	}
	l := f.train.Loss
	for _, beside := range []bool{l.NeedsReference() != "", l.Est.Distill} {
		if beside {
			job.Frozen++
		}
	}
	if l.HasCritic() {
		job.Trained = 1
	}
	m := dryMemory{
		Note:   "estimates from shapes, by the formula of each line; those marked as guesses have a constant that no run has confirmed; what a backend derives from weights is not counted",
		Device: f.line.Layout.Memory, Train: p.Train(s, job), Rollout: p.Rollout(s, job), Offloaded: p.Offloaded(s),
	}
	m.PerToken, _ = s.Attention(f.rollout.KV, dtype.BF16)
	return m
}
