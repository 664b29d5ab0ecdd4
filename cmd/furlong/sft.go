package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"

	"furlong/checkpoint/hf"
	"furlong/config"
	"furlong/data"
	"furlong/data/arithmetic"
	"furlong/rl"
	"furlong/sft"
	"furlong/starter"
	"furlong/tokenizer"
	"furlong/train"
)

// sftFlags is everything that furlong sft can be told.
type sftFlags struct {
	Talk     talk
	Out      string  `flag:"save-hf" help:"directory for the result, in the Hugging Face layout; it must not hold anything"`
	Model    string  `flag:"model-config" help:"config.json of a model that starts from random weights; the built-in shape if neither this nor --hf-checkpoint is given"`
	Init     uint64  `flag:"seed" help:"seed of the initial weights"`
	DataSeed uint64  `flag:"data-seed" help:"seed of the generated problems and of the teacher's mistakes"`
	Examples int     `flag:"num-examples" unit:"count" help:"generated problems; they are gone through as often as the steps need"`
	Forget   float64 `flag:"teacher-forgets" help:"probability that the teacher of the generated problems forgets a carry"`
	Response string  `flag:"response-key" help:"key of the response in --prompt-data"`
	Every    int     `flag:"log-interval" help:"steps between lines of the log"`
}

// Validate reports what is wrong with f, in the words of the flags.
func (f sftFlags) Validate() error {
	var errs []error
	if f.Out == "" {
		errs = append(errs, errors.New("--save-hf is missing: where shall the result go?"))
	}
	if f.Every < 1 {
		errs = append(errs, fmt.Errorf("--log-interval is %d, want at least 1", f.Every))
	}
	if !(f.Forget >= 0 && f.Forget <= 1) {
		errs = append(errs, fmt.Errorf("--teacher-forgets is %v, want a probability, from 0 to 1", f.Forget))
	}
	return errors.Join(errs...)
}

// imitation checks what several groups of flags say of supervised training.
type imitation struct {
	f *sftFlags
	m *modelFlags
	t *train.Config
	d *data.Config
}

// Validate reports two models to start from, and a loss that needs rewards.
func (s *imitation) Validate() error {
	var errs []error
	if s.m.Checkpoint != "" && s.f.Model != "" {
		errs = append(errs, errors.New("--hf-checkpoint and --model-config are both given: which shall training start from?"))
	}
	if s.t.Loss.Type == "policy_loss" {
		errs = append(errs, errors.New("--loss-type is policy_loss, want sft_loss: examples have no reward"))
	}
	return errors.Join(errs...)
}

func runSFT(ctx context.Context, e *env) int {
	f := sftFlags{Init: 1, DataSeed: 7, Examples: 96_000, Forget: 0.65, Response: "response", Every: 50}
	m, loop, tc, dc := defaultModel(), sft.Default(), train.Default(), data.Default()
	tc.Loss.Type, tc.Loss.Agg, tc.FreezeGate = "sft_loss", "token-mean", false
	set := config.New("sft", "Supervised training: makes a model imitate the responses of a jsonl file or, without one, the careless teacher of the recipe tiny-arithmetic. Makes warm starts.")
	set.Layered("warm-start").Add("Flags", &f).Add("Model", &m).Add("Training", &loop, &tc).Add("Data", &dc).Add("Checks", &imitation{&f, &m, &tc, &dc})
	set.Example("furlong sft --save-hf warm-start", "makes the built-in warm start anew")
	if code, ok := e.parse(set); !ok {
		return code
	}
	return e.fail(e.sft(ctx, f, m, loop, tc, dc))
}

func (e *env) sft(ctx context.Context, f sftFlags, m modelFlags, loop sft.Config, tc train.Config, dc data.Config) error {
	if err := vacant(f.Out); err != nil {
		return err
	}
	p, err := startPolicy(f, m, e)
	if err != nil {
		return err
	}
	k, closeK := backend(m.Backend, m.Threads)
	defer closeK()
	tc.Planned = loop.Steps
	engine, err := train.New(tc, p.Model, nil, k, p.files)
	if err != nil {
		return err
	}
	examples, err := e.sftExamples(f, dc, p)
	if err != nil {
		return err
	}
	if err := e.runSteps(ctx, f, loop, engine, examples); err != nil {
		return err
	}
	if err := engine.Export(f.Out, hf.Ref); err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.stdout, "%s  weights sha256 %s\n", f.Out, train.Digest(engine.Params()))
	return err
}

// vacant reports files in a directory for the result before it takes long to make.
func vacant(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && len(entries) > 0 {
		return fmt.Errorf("--save-hf: %s has files (%s, ...), want a new or empty directory", dir, entries[0].Name())
	}
	return err
}

// startPolicy returns the policy to begin with: a checkpoint's, or random weights.
func startPolicy(f sftFlags, m modelFlags, e *env) (*policy, error) {
	if m.Checkpoint != "" {
		return loadPolicy(m, e.log)
	}
	raw, where := starter.Config, "built-in config.json"
	if f.Model != "" {
		var err error
		if raw, err = os.ReadFile(f.Model); err != nil {
			return nil, err
		}
		where = f.Model
	}
	p, err := newPolicy(raw, where, m)
	if err == nil {
		p.Init(f.Init)
	}
	return p, err
}

func (e *env) sftExamples(f sftFlags, dc data.Config, p *policy) (iter.Seq[*rl.Sample], error) {
	if dc.File == "" {
		q := f.Forget
		return arithmetic.Examples(p.tok, f.DataSeed, arithmetic.Teacher{Plus: q, Minus: q, Times: q}, f.Examples), nil
	}
	dc.LabelKey = f.Response
	set, err := data.Open(dc, p.tok)
	if err != nil {
		return nil, err
	}
	e.loaded(set.Report())
	defer set.Close()
	prompts, err := set.Prompts()
	return responses(prompts, p.tok), err
}

// responses yields each row as a sample whose response is the row's label, end token included.
func responses(prompts []*rl.Prompt, tok tokenizer.Tokenizer) iter.Seq[*rl.Sample] {
	return func(yield func(*rl.Sample) bool) {
		for _, p := range prompts {
			s := &rl.Sample{Prompt: p, Sampling: rl.DefaultSampling(), Response: append(tok.Encode(p.Label), tok.EOS()), Stop: rl.StopToken}
			if !yield(s) {
				return
			}
		}
	}
}

// runSteps trains, with a line of progress and one of log now and then.
func (e *env) runSteps(ctx context.Context, f sftFlags, loop sft.Config, engine *train.Engine, examples iter.Seq[*rl.Sample]) error {
	line := e.follow("sft", "steps", int64(loop.Steps), f.Talk)
	defer line.Finish()
	return sft.Run(ctx, loop, engine, examples, func(step int, s rl.Stats) error {
		line.Set(int64(step), fmt.Sprintf("loss %.4f", s["train/loss"]))
		if step%f.Every == 0 || step == 1 {
			e.log.Info("step", "step", step, "loss", s["train/loss"], "grad_norm", s["train/grad_norm"], "lr", s["train/lr-pg_0"], "skipped", s["train/skipped_steps"])
		}
		return nil
	})
}
