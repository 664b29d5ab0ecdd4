package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"furlong/parity"
	"furlong/parity/diverge"
	"furlong/parity/suspect"
	"furlong/parity/taps"
)

// A tappedSide is a side of a comparison with what it is called.
type tappedSide struct {
	parity.Found
	name string // A or B
}

// find has a judge look at what each side recorded, op by op, and returns what it found: at the first side that is at fault, or of the first that could be judged. Where
// no judge fits either of them, their differences are judged by growth alone.
func (p *parityJob) find(ctx context.Context, a, b parity.Found) (*parity.Divergence, error) {
	sides := []tappedSide{{a, "A"}, {b, "B"}}
	if own(a.About) && !own(b.About) {
		sides = []tappedSide{{b, "B"}, {a, "A"}} // others' arithmetic is looked at first
	}
	var plain []taps.Diff
	var err error
	if a.Taps != nil && b.Taps != nil && !parity.DifferentFormats(a.About, b.About) { // else differences as they are say nothing of mistakes
		if plain, err = taps.Plain(a.Taps, b.Taps); err != nil {
			return nil, err
		}
	}
	var first *parity.Divergence
	var failed []error
	var judged []string
	for _, s := range sides {
		if s.Taps == nil {
			continue
		}
		d, err := p.judged(ctx, s, plain)
		if err == nil {
			judged = append(judged, s.name)
		}
		switch {
		case err != nil:
			failed = append(failed, fmt.Errorf("%s: %w", s.name, err))
		case d.Found:
			return d, nil
		case first == nil:
			first = d
		case d.Says != first.Says:
			first.More = append(first.More, d.Says)
		}
	}
	if first != nil {
		slices.Sort(judged)
		first.Judged = strings.Join(judged, "")
		return first, nil
	}
	if a.Taps == nil || b.Taps == nil {
		return nil, errors.Join(failed...)
	}
	if plain, err = taps.Plain(a.Taps, b.Taps); err != nil {
		return nil, err
	}
	return grown(a, b, plain, errors.Join(failed...))
}

// own reports whether a side is an engine of this process.
func own(a parity.About) bool { return a.Kind == "rollout" || a.Kind == "trainer" }

// judged has this binary's model, in the side's formats, compute every op from what the side recorded.
func (p *parityJob) judged(ctx context.Context, s tappedSide, plain []taps.Diff) (*parity.Divergence, error) {
	t, err := p.judgeFor(ctx, s)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	j := taps.Judge{Model: t.policy.Model, Backend: t.k, FP8: t.spec.built.kv == "fp8_e4m3"}
	c := diverge.Case{
		Side: s.name, Judge: "this binary's model", Of: heldBy(s.About), Against: heldBy(t.about), Layers: t.policy.Layers(),
		Own: isOwn(t.about, s.About),
	}
	local, err := taps.Force(j, s.Taps)
	if err != nil {
		return nil, err
	}
	f, err := diverge.First(c, local, plain)
	if err != nil {
		return nil, err
	}
	d := divergence(f, "forced", "this binary's model, weights "+t.about.Weights+", kv "+t.about.KV+", "+t.about.Backend)
	if f.Found {
		tried, err := diverge.Explain(c, j, s.Taps, f, suspect.All())
		if err != nil {
			return nil, err
		}
		d.Suspects = suspects(tried)
		if words := diverge.Sentence(c, tried); words != "" {
			d.More = append([]string{words}, d.More...)
		}
	}
	d.Side = s.name
	return d, nil
}

// judgeFor returns a trainer in a side's formats, as far as this binary has them. All sides have one judge's model: that of --hf-checkpoint where a side is of it, else of
// the first side of this binary, else of the library's. It must be of the side's model and weights where both say which, unless that was to be ignored.
func (p *parityJob) judgeFor(ctx context.Context, s tappedSide) (*trainerSide, error) {
	spec := p.judgeSpec()
	if own(s.About) {
		spec.built.model.Backend = s.About.Backend
	}
	like := s.About
	like.Arithmetic = "float32"
	if b, err := spec.built.like(like); err == nil {
		spec.built = b
	}
	t, err := p.openTrainer(ctx, spec)
	if err != nil {
		return nil, err
	}
	if err := p.judgeFits(t.about, s.About); err != nil {
		_ = t.Close()
		return nil, err
	}
	return t, nil
}

func (p *parityJob) judgeSpec() sideSpec {
	spec := sideSpec{text: "trainer", kind: "trainer"}.over(p.f.model)
	named := spec.built.model.Checkpoint
	for _, x := range p.specs {
		if x.kind != "rollout" && x.kind != "trainer" {
			continue
		}
		spec.built.model = x.built.model
		if p.ofModel(named) {
			spec.built.model.Checkpoint = named
		}
		return spec
	}
	for _, x := range p.specs {
		if x.kind == "hf" && spec.built.model.Checkpoint == "" {
			spec.built.model.Checkpoint = x.place
		}
	}
	return spec
}

// ofModel reports whether a side is held to be of the model that --hf-checkpoint names: an engine of this binary that names no other, or anything that is not one.
func (p *parityJob) ofModel(named string) bool {
	for _, x := range p.specs {
		built := x.kind == "rollout" || x.kind == "trainer"
		if built && x.built.model.Checkpoint == named || !built && named != "" {
			return true
		}
	}
	return false
}

// guessed reports whether no side and no flag says of which model the judge is to be: then it is the model inside the binary, which the sides need not have.
func (p *parityJob) guessed() bool {
	for _, x := range p.specs {
		if x.kind == "rollout" || x.kind == "trainer" || x.kind == "hf" {
			return false
		}
	}
	return p.f.model.Checkpoint == ""
}

// judgeFits returns an error where a judge is of another model or other weights than a side. To ignore that is to trust the judge that was named; one that was guessed must
// have the side's very shape and weights.
func (p *parityJob) judgeFits(judge, side parity.About) error {
	says := parity.DifferentConfigs(judge.Config, side.Config)
	if p.guessed() && (len(says) > 0 || side.State == "" || judge.State != side.State) {
		return errors.New("the side is not known to be of the model inside this binary (--hf-checkpoint names its model)")
	}
	if len(says) > 0 && !contains(p.f.what.Ignore, "config") {
		return fmt.Errorf("the judge is another model: %s (--hf-checkpoint names the model)", strings.Join(says, ", "))
	}
	same := judge.State == side.State || judge.State == "" || side.State == "" || judge.Weights != side.Weights
	if !same && !contains(p.f.what.Ignore, "weights") {
		return fmt.Errorf("the judge has other weights: their digest is %.12s, and that of the side's %.12s (--hf-checkpoint names the model)", judge.State, side.State)
	}
	return nil
}

// isOwn reports whether a judge is a side's own model, in its formats, on its backend: then every bit that differs is a finding.
func isOwn(judge, side parity.About) bool {
	return own(side) && side.Backend == judge.Backend && side.Weights == judge.Weights && side.KV == judge.KV && side.State == judge.State &&
		len(parity.DifferentConfigs(judge.Config, side.Config)) == 0
}

// heldBy returns how a side holds numbers.
func heldBy(a parity.About) diverge.Formats {
	plain, recipe, _ := strings.Cut(a.Weights, " ")
	f := diverge.Formats{Weights: recipe, FP8: a.KV == "fp8_e4m3", Wide: a.Arithmetic == "float64"}
	if plain == "bf16" {
		f.Plain = "BF16"
	}
	if a.Arithmetic == "bfloat16" {
		f.Activations = "BF16"
	}
	return f
}

// grown judges two recordings without a judge.
func grown(a, b parity.Found, plain []taps.Diff, why error) (*parity.Divergence, error) {
	f, err := diverge.Growth(diverge.Case{Side: "A", Judge: "B", Of: heldBy(a.About), Against: heldBy(b.About)}, plain)
	if err != nil {
		return nil, err
	}
	d := divergence(f, "growth", "")
	if why != nil {
		d.More = append(d.More, "No judge: "+strings.ReplaceAll(why.Error(), "\n", "; ")+".")
	}
	return d, nil
}

// divergence returns a finding as a report has it.
func divergence(f *diverge.Finding, method, judge string) *parity.Divergence {
	d := &parity.Divergence{
		Method: method, Judge: judge, Found: f.Found, Layer: f.Layer, Op: f.Op, At: f.At, Local: parity.Figure(f.Local), Inherited: parity.Figure(f.Inherited),
		Limit: parity.Figure(f.Limit), Reason: f.Reason, Says: f.Says, More: f.More,
	}
	for _, r := range f.Rows {
		d.Ops = append(d.Ops, parity.OpRow{
			Layer: r.Layer, Op: r.Op, Local: parity.Figure(r.Local), Inherited: parity.Figure(r.Inherited), Limit: parity.Figure(r.Limit), Over: r.Over, At: r.At, Says: r.Says,
		})
	}
	return d
}

func suspects(tried []diverge.Explained) (out []parity.SuspectRow) {
	for _, t := range tried {
		out = append(out, parity.SuspectRow{Name: t.Name, Says: t.Says, Left: parity.Figure(t.Left), Match: t.Match})
	}
	return out
}
