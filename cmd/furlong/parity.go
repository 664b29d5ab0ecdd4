package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"furlong/config"
	"furlong/data"
	"furlong/parity"
	"furlong/progress"
)

const parityPurpose = `Compares two engines token by token. A draws responses to prompts, both score them, and a verdict says in words what the difference is: the same
bits, equal up to float32 rounding, as their formats explain, or a mistake: then the first layer and operation at fault, and the kind of mistake where it is a known one,
as far as inner results are to be had. The exit code is 0 for what is explained, 1 for what is not, 2 for what could not be compared.

A side is one of

  rollout[:options]  the rollout engine of this binary: pages, prefix cache, prompts in chunks
  trainer[:options]  the training engine of this binary; without A and B it is rollout against trainer
  http://host:port   a server of SGLang's dialect: furlong serve, or SGLang itself
  hf:DIR             the transformers library's model of a checkpoint, by a --python that has it
  dir:PATH           a recording, such as --out leaves in PATH/a and PATH/b

Options have commas between them:

  both     checkpoint=DIR dtype=bf16|f32 format=bf16|fp8|fp8+fp4|... kv=auto|fp8_e4m3 backend=cpu|ref threads=N
  rollout  page=N chunk=N running=N recent=N cache=on|off
  trainer  tokens=N (of a micro-batch) recompute`

// parityFlags is everything that furlong parity can be told.
type parityFlags struct {
	talk   talk
	model  modelFlags
	what   comparedFlags
	tokens tokenFlags
	server visitFlags
}

// comparedFlags say what is compared, and what becomes of the result.
type comparedFlags struct {
	A         string   `arg:"[A]" help:"the side that draws"`
	B         string   `arg:"[B]" help:"the side that it is held against"`
	Self      string   `flag:"self" help:"hold this side against itself under conditions that must not matter"`
	Tolerance float64  `flag:"tolerance" help:"largest gap that is no difference, nats; 0 is float32 rounding, 2e-5"`
	Taps      int      `flag:"taps" help:"sequences of which both sides' inner results are compared, op by op, where they tell them; 0 for none"`
	Worst     int      `flag:"worst" help:"tokens with the largest gaps to tell of"`
	Ignore    []string `flag:"ignore" again:"adds" help:"checks whose failure does not end the comparison: tokenizer config weights version length vocabulary scoring meaning"`
	JSON      bool     `flag:"json" help:"print the whole report as one JSON object"`
	Out       string   `flag:"out" help:"folder that gets the report, what both sides said, and their inner results"`
}

// tokenFlags say which tokens are scored.
type tokenFlags struct {
	Sequences    string   `flag:"sequences" help:"jsonl file of prompts with responses, in ids, as recordings have them, or a run's samples/c000037.fls; nothing is drawn then. Logprobs in it are not compared: dir:PATH is a side that has those of a recording"`
	Samples      []string `flag:"samples" again:"adds" help:"of a run's samples, those of a problem, as 1193, or one of them, as 1193/5"`
	Prompts      string   `flag:"prompt-data" help:"jsonl file of prompts; without it, the held-out problems of tiny-arithmetic"`
	InputKey     string   `flag:"input-key" help:"key of the prompt in it"`
	NumPrompts   int      `flag:"num-prompts" help:"the first so many prompts or sequences; 0 for all of a file"`
	MaxNewTokens int      `flag:"max-new-tokens" help:"longest response"`
	Seed         uint64   `flag:"seed" help:"seed of problems and draws"`
}

// visitFlags say how a server or a Python is asked.
type visitFlags struct {
	KeyFile string        `flag:"api-key-file" help:"file with what servers want to be shown (their --api-key)"`
	Wait    time.Duration `flag:"wait" help:"how long a server may take to be there"`
	Python  string        `flag:"python" help:"interpreter with torch and transformers, for hf:DIR"`
	HFDtype string        `flag:"hf-dtype" choices:"float32 float64 bfloat16" help:"format of computation of hf:DIR"`
}

func newParityFlags() *parityFlags {
	return &parityFlags{
		model:  defaultModel(),
		what:   comparedFlags{Taps: 4, Worst: 20},
		tokens: tokenFlags{InputKey: "input", NumPrompts: 32, MaxNewTokens: 44, Seed: 1234},
		server: visitFlags{Wait: time.Minute, Python: "python3", HFDtype: "float32"},
	}
}

// set returns what the command line is read with.
func (f *parityFlags) set() *config.Set {
	set := config.New("parity", parityPurpose)
	set.Add("Comparison", &f.what).Add("Tokens", &f.tokens).Add("Model", &f.model).Add("Servers and Python", &f.server).Add("Output", &f.talk)
	set.Example("furlong parity", "is the policy that I sample from the one that I train?")
	set.Example("furlong parity rollout:format=fp8,kv=fp8_e4m3 trainer", "what does FP8 cost, and is it only that?")
	set.Example("furlong parity rollout:page=1,chunk=7,cache=off trainer:tokens=1,recompute,backend=ref", "the same policy, computed as differently as can be")
	set.Example("furlong parity http://host:30000 trainer --hf-checkpoint DIR", "a server against the trainer")
	set.Example("furlong parity rollout hf:DIR --hf-checkpoint DIR --out compare", "against the PyTorch reference, with everything kept")
	set.Example("furlong parity rollout trainer --sequences runs/a/samples/c000037.fls --samples 1193/5", "one answer of a run, scored anew; the page of its tokens prints this with the run's weights and formats")
	set.Example("furlong parity --self rollout", "does anything change a bit that must not?")
	return set
}

// Validate reports what is wrong with f, in the words of the flags.
func (f comparedFlags) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch {
	case f.Self != "" && f.A != "":
		bad("--self names the only side, want no others beside it")
	case f.A != "" && f.B == "":
		bad("argument B is missing: against what is %s to be held?", f.A)
	}
	for _, s := range []string{f.A, f.B, f.Self} {
		if s != "" {
			if _, err := parseSide(s); err != nil {
				errs = append(errs, err)
			}
		}
	}
	if !(f.Tolerance >= 0) || math.IsInf(f.Tolerance, 1) {
		bad("--tolerance is %v, want a finite number, 0 or more", f.Tolerance)
	}
	if f.Taps < 0 || f.Worst < 0 {
		bad("--taps is %d and --worst %d, want 0 or more", f.Taps, f.Worst)
	}
	for _, name := range f.Ignore {
		if !contains(parity.CheckNames, name) {
			bad("--ignore is %q, want some of: %s", name, strings.Join(parity.CheckNames, " "))
		}
	}
	return errors.Join(errs...)
}

func contains(all []string, s string) bool {
	return slices.Contains(all, s)
}

// Validate reports what is wrong with f, in the words of the flags.
func (f tokenFlags) Validate() error {
	var errs []error
	if f.NumPrompts < 0 {
		errs = append(errs, fmt.Errorf("--num-prompts is %d, want 0 or more", f.NumPrompts))
	}
	if f.MaxNewTokens < 1 {
		errs = append(errs, fmt.Errorf("--max-new-tokens is %d, want at least 1", f.MaxNewTokens))
	}
	if f.Sequences != "" && f.Prompts != "" {
		errs = append(errs, errors.New("--sequences has prompts of its own, want it without --prompt-data"))
	}
	return errors.Join(append(errs, f.checkSamples())...)
}

func runParity(ctx context.Context, e *env) int {
	f := newParityFlags()
	args := e.args
	if code, ok := e.parse(f.set()); !ok {
		return code
	}
	f.model.Checkpoint = modelDir(f.model.Checkpoint)
	if f.what.Self != "" {
		return e.parityOfOne(ctx, f, args)
	}
	if f.what.A == "" {
		f.what.A, f.what.B = "rollout", "trainer"
	}
	res, err := e.compareSides(ctx, f, args)
	if err != nil {
		return e.noVerdict(err)
	}
	if err := e.tellParity(res, f.what); err != nil {
		return e.noVerdict(err)
	}
	return verdictCode(res.Report.Verdict)
}

// noVerdict reports an error for which there is no answer, or none that was told in full. Its exit code is never a verdict's: who watches for a difference would take a
// server that is not there for one.
func (e *env) noVerdict(err error) int {
	if code := e.fail(err); code != exitFailed {
		return code
	}
	return exitUsage
}

func verdictCode(v parity.Verdict) int {
	if !v.OK {
		return exitFailed
	}
	return exitOK
}

// tellParity prints the report and writes what is to be kept. What cannot be kept is printed all the same.
func (e *env) tellParity(res *parity.Result, f comparedFlags) error {
	var kept error
	if f.Out != "" {
		kept = keepParity(f.Out, res)
	}
	if f.JSON {
		return errors.Join(json.NewEncoder(e.stdout).Encode(res.Report), kept)
	}
	if err := errors.Join(res.Report.Text(e.stdout), kept); err != nil {
		return err
	}
	if f.Out != "" {
		fmt.Fprintf(e.stdout, "\nWritten to %s.\n", f.Out)
	}
	return nil
}

// compareSides opens both sides and compares them.
func (e *env) compareSides(ctx context.Context, f *parityFlags, args []string) (*parity.Result, error) {
	p := &parityJob{env: e, f: f}
	defer p.close()
	if err := p.prepare(f.what.A, f.what.B); err != nil {
		return nil, err
	}
	a, err := p.open(ctx, p.specs[0])
	if err != nil {
		return nil, fmt.Errorf("side A: %w", err)
	}
	b, err := p.open(ctx, p.specs[1])
	if err != nil {
		return nil, fmt.Errorf("side B: %w", err)
	}
	o := parity.Options{
		Settings: p.settings(args), Made: time.Now().UTC().Format(time.RFC3339), Build: buildName(), Sequences: p.seqs, Draw: p.draw,
		Tokenizer: p.words, Ignore: f.what.Ignore, Taps: f.what.Taps, Find: p.find, Progress: p.progress,
	}
	return parity.Run(ctx, a, b, o)
}

// A parityJob is what a comparison needs beside its sides.
type parityJob struct {
	*env
	f     *parityFlags
	specs []sideSpec
	seqs  []parity.Sequence
	draw  *parity.Drawing // nil where responses are given
	from  string          // where the tokens are from, in words
	words tokenizerOf
	need  int // tokens of the longest sequence

	policies map[string]*policy // by what they were loaded from
	records  map[string]*parity.Record
	ends     []func()
	stage    string
	bar      *progress.Line
}

// close ends what was opened, the last first.
func (p *parityJob) close() {
	if p.bar != nil {
		p.bar.Finish()
	}
	for i := len(p.ends) - 1; i >= 0; i-- {
		p.ends[i]()
	}
}

// progress shows how far a stage is.
func (p *parityJob) progress(stage string, done, total int) {
	if stage != p.stage {
		if p.bar != nil {
			p.bar.Finish()
		}
		p.stage, p.bar = stage, nil
		if total > 0 {
			p.bar = p.follow(stage, "sequences", int64(total), p.f.talk)
		}
	}
	if p.bar != nil {
		p.bar.Set(int64(done), "")
	}
}

func (p *parityJob) settings(args []string) parity.Settings {
	s := parity.Settings{
		Command: append([]string{"furlong", "parity"}, args...), Source: p.from, Prompts: len(p.seqs), Seed: p.f.tokens.Seed,
		Tolerance: p.f.what.Tolerance, Worst: p.f.what.Worst,
	}
	if p.draw != nil {
		s.MaxNewTokens = p.draw.MaxNewTokens
	}
	return s
}

// prepare reads what sides are named and which tokens they get, and tries whether what comes of it can be kept.
func (p *parityJob) prepare(names ...string) error {
	if out := p.f.what.Out; out != "" {
		if err := canKeep(out); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
	}
	p.policies, p.records = map[string]*policy{}, map[string]*parity.Record{}
	for _, name := range names {
		s, err := parseSide(name)
		if err != nil {
			return err
		}
		p.specs = append(p.specs, s.over(p.f.model))
	}
	if err := p.tokenizer(); err != nil {
		return err
	}
	if err := p.sequences(); err != nil {
		return err
	}
	for _, s := range p.seqs {
		n := len(s.Prompt) + len(s.Response)
		if p.draw != nil {
			n += p.draw.MaxNewTokens
		}
		p.need = max(p.need, n)
	}
	return nil
}

// sequences reads the tokens: a file's, a record's, or prompts that A is to answer.
func (p *parityJob) sequences() (err error) {
	t := p.f.tokens
	recorded, err := p.recorded()
	switch {
	case err != nil:
		return err
	case filepath.Ext(t.Sequences) == bodyExt:
		p.seqs, err = readSamples(t.Sequences, t.Samples)
		p.from = strings.Join(append([]string{"responses of", t.Sequences}, t.Samples...), " ")
	case t.Sequences != "":
		p.seqs, err = p.readSequences(t.Sequences)
		p.from = "responses of " + t.Sequences
	case recorded != nil:
		p.seqs, err = recorded.Sequences(), nil
		p.from = "responses of the recording"
	default:
		return p.prompts()
	}
	if n := t.NumPrompts; err == nil && p.set("num-prompts") && n > 0 && n < len(p.seqs) {
		p.seqs = p.seqs[:n]
	}
	return err
}

// set reports whether the command line has a flag.
func (p *parityJob) set(flag string) bool {
	for _, a := range p.args {
		if a == "--"+flag || strings.HasPrefix(a, "--"+flag+"=") {
			return true
		}
	}
	return false
}

// readSequences reads the tokens of a file. Logprobs that stand there are of neither side, and it says so.
func (p *parityJob) readSequences(path string) ([]parity.Sequence, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, err := parity.ReadSequences(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if _, err := f.Seek(0, io.SeekStart); err == nil && hasLogProbs(f) {
		p.log.Warn("logprobs of the file are not compared: both sides score its tokens anew", "file", path, "other", "dir:PATH is a side that has the logprobs of a recording")
	}
	return all, nil
}

// hasLogProbs reports whether a line of a file of sequences, which has been read, brings logprobs.
func hasLogProbs(from io.Reader) bool {
	d := json.NewDecoder(from)
	for {
		var l struct {
			LogProbs  json.RawMessage `json:"logprobs"`
			Generated json.RawMessage `json:"generated"`
		}
		if d.Decode(&l) != nil {
			return false
		}
		if len(l.LogProbs)+len(l.Generated) > 0 {
			return true
		}
	}
}

// prompts reads prompts for A to answer.
func (p *parityJob) prompts() error {
	t := p.f.tokens
	c := data.Default()
	c.InputKey = t.InputKey
	eval := evalFlags{Problems: t.NumPrompts, Seed: t.Seed}
	p.from = "held-out problems of tiny-arithmetic"
	if t.Prompts != "" {
		eval.Data = []string{"prompts", t.Prompts}
		p.from = "prompts of " + t.Prompts
	}
	all, err := eval.prompts(func(c data.Config) (*data.Set, error) { return data.Open(c, p.words.Tokenizer) }, c, p.words.Tokenizer, noLimit, p.log)
	if err != nil {
		return err
	}
	for _, q := range all {
		p.seqs = append(p.seqs, parity.Sequence{ID: q.ID, Prompt: q.Tokens})
	}
	if len(p.seqs) == 0 {
		return errors.New("--num-prompts is 0, want at least 1 of the recipe's problems")
	}
	p.from += ", answered by A"
	p.draw = &parity.Drawing{MaxNewTokens: t.MaxNewTokens, Seed: t.Seed, StopIDs: p.words.stops}
	return nil
}

// noLimit is longer than any prompt: contexts are checked against both sides later.
const noLimit = 1 << 30
