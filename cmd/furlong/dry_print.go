package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"furlong/config"
	"furlong/launchline"
	"furlong/layout"
)

// flagText writes a flag with its value.
func flagText(flag, value string) string { return strings.TrimSpace("--" + flag + " " + value) }

// noteText writes a note's flag as flagText does; a variable is no flag.
func noteText(n config.Note) string {
	if n.Origin == launchline.Origin {
		return n.Flag + "=" + config.Quote(n.Value)
	}
	return flagText(n.Flag, n.Value)
}

// inBytes writes a number of bytes for people.
func inBytes(n int64) string {
	for _, u := range []struct {
		name string
		size float64
	}{{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}} {
		if float64(n) >= u.size {
			return fmt.Sprintf("%.1f %s", float64(n)/u.size, u.name)
		}
	}
	return fmt.Sprintf("%d B", n)
}

// inParameters writes a number of parameters for people.
func inParameters(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.2f B", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.2f M", float64(n)/1e6)
	}
	return fmt.Sprint(n)
}

// print writes what a run would be as text.
func (d *dryRun) print(w io.Writer) error {
	fmt.Fprintln(w, "Dry run: nothing is started, read or written.")
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	d.printShape(tw)
	d.printLayout(tw)
	d.printBatch(tw)
	if err := tw.Flush(); err != nil {
		return err
	}
	d.printMemory(w)
	d.printRoles(w)
	d.printFlags(w)
	fmt.Fprintln(w)
	if len(d.InWay) == 0 {
		_, err := fmt.Fprintln(w, "Nothing that can be seen from here stands in the way of this run.")
		return err
	}
	fmt.Fprintln(w, "In the way of this run, here:")
	for _, why := range d.InWay {
		fmt.Fprintf(w, "  %s\n", why)
	}
	return nil
}

func (d *dryRun) printShape(w io.Writer) {
	m, c := d.Model, d.Model.Parameters
	recipe := d.Recipe
	if recipe == "" {
		recipe = "none"
	}
	if d.Presume != "" {
		recipe += " (" + d.Presume + ")"
	}
	fmt.Fprintf(w, "recipe\t%s\n", recipe)
	fmt.Fprintf(w, "model\t%d layers (%d with a window alone, %d with indexed and %d with all compressed entries; %d routed by table), hidden %d, %d heads of %d\n",
		m.Layers, m.Kinds[0], m.Kinds[1], m.Kinds[2], m.Hashed, m.Hidden, m.Heads, m.HeadDim)
	fmt.Fprintf(w, "\t%d experts, %d for a token; %d streams; %d tokens; %d positions; from %s\n", m.Experts, m.TopK, m.Streams, m.Vocab, m.Positions, m.Source)
	fmt.Fprintf(w, "parameters\t%s: routed experts %s, shared %s, attention %s, vocabulary %s, routers %s, mixers %s, norms %s; %s active for a token\n",
		inParameters(c.Total), inParameters(c.Experts), inParameters(c.Shared), inParameters(c.Attention), inParameters(c.Vocabulary), inParameters(c.Routers),
		inParameters(c.Streams), inParameters(c.Norms), inParameters(c.Active))
}

func (d *dryRun) printLayout(w io.Writer) {
	p := d.Layout
	if p.Devices == 0 {
		fmt.Fprintln(w, "machines\t1; its processor trains and generates")
		return
	}
	where := fmt.Sprintf("%d machines with %d devices train, %d with %d generate", p.TrainMachines, p.TrainDevices, p.RolloutMachines, p.RolloutDevices)
	if p.Shared {
		where = fmt.Sprintf("%d devices train and generate, in turn", p.TrainDevices)
	}
	fmt.Fprintf(w, "machines\t%d, %d devices: %s\n", p.Machines, p.Devices, where)
	fmt.Fprintf(w, "ranks\ttensor %d, pipeline %d, context %d, data %d; of experts: expert %d, tensor %d, data %d\n",
		p.Tensor, p.Pipeline, p.Context, p.Data, p.Expert, p.ExpertTensor, p.ExpertData)
	fmt.Fprintf(w, "engines\t%d of %d devices, tensor %d, expert %d\n", p.Engines, p.PerEngine, p.EngineTensor, p.EngineExpert)
}

func (d *dryRun) printBatch(w io.Writer) {
	b, l, f := d.Batch, d.Lengths, d.Formats
	fmt.Fprintf(w, "cycle\t%d prompts x %d samples = %d samples; %s of %d, %d for a data parallel rank, in micro-batches of up to %d tokens\n",
		b.Prompts, b.Each, b.Samples, several(b.Steps, "optimizer step"), b.Global, b.PerRank, b.Micro)
	printPackings(w, b.Packings)
	fmt.Fprintf(w, "run\t--loop %s, %d cycles: %d samples, %s\n", d.loop, b.Cycles, b.Cycles*b.Samples, several(b.AllSteps, "optimizer step"))
	eval := ""
	if l.Eval > 0 {
		eval = fmt.Sprintf(", in evaluations %d", l.Eval)
	}
	fmt.Fprintf(w, "lengths\tcontext %d, response up to %d%s; a prompt of up to %d leaves room for all of it\n", l.Context, l.Response, eval, l.Prompt)
	fmt.Fprintf(w, "formats\tactor %s (attention state %s), rollout %s (%s), everything else %s; masters and moments float32\n", f.Actor, f.ActorKV, f.Rollout, f.RolloutKV, f.Weights)
}

// printPackings writes the micro-batches of a step, one line for each assumption about lengths.
func printPackings(w io.Writer, all []layout.Packing) {
	title := "micro-batches"
	for _, p := range all {
		fmt.Fprintf(w, "%s\t%d a rank and step, of up to %d tokens, if %s; the fullest rank has %.3f of the mean, %.3f dealt in turn\n", title, p.PerRank, p.Largest, p.Lengths, p.Fullest, p.InTurn)
		title = ""
	}
}

func (d *dryRun) printMemory(w io.Writer) {
	fmt.Fprintf(w, "\nMemory (%s)\n", d.Memory.Note)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i, l := range d.Memory.Train {
		st := d.Layout.Stages[i]
		printLoad(tw, fmt.Sprintf("training device of stage %d: layers %d to %d, ranks %d to %d", i, st.First, st.First+st.Layers-1, st.Ranks[0], st.Ranks[1]), l)
	}
	printLoad(tw, fmt.Sprintf("rollout device, %.0f bytes of attention state a token", d.Memory.PerToken), d.Memory.Rollout)
	if d.Memory.Offloaded > 0 {
		fmt.Fprintf(tw, "  memory of a training machine\t%s\t12 bytes times its part of the parameters times --optimizer-offload-fraction\n", inBytes(d.Memory.Offloaded))
	}
	tw.Flush()
}

func printLoad(w io.Writer, title string, l layout.Load) {
	fmt.Fprintf(w, "  %s\t%s\t\n", title, inBytes(l.Total))
	for _, p := range l.Parts {
		formula := p.Formula
		if p.Guess {
			formula += " (guess)"
		}
		fmt.Fprintf(w, "    %s\t%s\t%s\n", p.Name, inBytes(p.Bytes), formula)
	}
}

func (d *dryRun) printRoles(w io.Writer) {
	fmt.Fprintln(w, "\nRoles")
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range d.Roles {
		fmt.Fprintf(tw, "  %s\t%s\t%s\n", r.Role, r.Where, r.What)
	}
	tw.Flush()
}

func (d *dryRun) printFlags(w io.Writer) {
	if len(d.Expands) > 0 {
		fmt.Fprintln(w, "\nFlags that stand for others")
	}
	for _, x := range d.Expands {
		fmt.Fprintf(w, "  %s (%s): %s\n", x.Flag, x.Origin, config.Quote(x.Flags...))
	}
	if n := len(d.Idle) + len(d.Held); n > 0 {
		fmt.Fprintf(w, "\nRead and not acted on: %s; furlong config print, with the same flags, says why of each\n", several(n, "flag"))
	}
	for _, n := range d.Idle {
		fmt.Fprintf(w, "  %s: %s\n", n.Flag, n.Why)
	}
	fmt.Fprintf(w, "\nThe same run without a recipe\n  %s\n", config.Quote(d.Command...))
}

// dryRoles says which parts a run has and where they would be.
func (f *trainFlags) dryRoles(p layout.Plan) []dryRole {
	const loop = "prompts, grades, the order of things, checkpoints, metrics"
	if p.Devices <= 1 {
		roles := []dryRole{{"loop", "this process", loop}, {"trainer", "this process", "the actor and its optimizer"}}
		if f.isRemote() {
			return append(roles, dryRole{"rollout servers", strings.Join(f.servers.URLs, " "), "running already; they draw samples and get weights"})
		}
		return append(roles, dryRole{"rollout engine", "this process", "draws samples from its own copy of the weights"})
	}
	roles := []dryRole{{"loop", "machine 0, no device", loop}}
	perMachine := max(1, p.TrainDevices/p.TrainMachines)
	for i, st := range p.Stages {
		roles = append(roles, dryRole{
			Role:  fmt.Sprintf("trainer, stage %d", i),
			Where: fmt.Sprintf("%s, ranks %d to %d", machines(st.Ranks[0]/perMachine, st.Ranks[1]/perMachine), st.Ranks[0], st.Ranks[1]),
			What:  fmt.Sprintf("layers %d to %d", st.First, st.First+st.Layers-1),
		})
	}
	first := p.TrainMachines
	if p.Shared {
		first = 0
	}
	each := max(1, p.RolloutDevices/max(1, p.RolloutMachines))
	for i := range p.Engines {
		roles = append(roles, dryRole{
			Role:  fmt.Sprintf("rollout engine %d", i),
			Where: fmt.Sprintf("machine %d, devices %d to %d", first+i*p.PerEngine/each, i*p.PerEngine%each, i*p.PerEngine%each+p.PerEngine-1),
			What:  "the whole model in --rollout-format",
		})
	}
	return roles
}

// machines names the machines from one to another.
func machines(from, to int) string {
	if from == to {
		return fmt.Sprintf("machine %d", from)
	}
	return fmt.Sprintf("machines %d to %d", from, to)
}

// several writes a number of things.
func several(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
