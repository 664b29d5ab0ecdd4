package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"furlong/config"
	"furlong/data"
	"furlong/layout"
	"furlong/metrics/samples"
	"furlong/orchestrator"
	"furlong/remote/sglang"
	"furlong/reward"
	"furlong/rl"
	"furlong/rollout"
	"furlong/rollout/sample"
	"furlong/tokenizer"
	"furlong/train"
)

// trainFlags is everything that furlong train can be told.
type trainFlags struct {
	talk    talk
	run     runFlags
	page    pageFlags
	model   modelFlags
	loop    orchestrator.Config
	batch   batchFlags
	sample  sampleFlags
	rollout rollout.Config
	servers sglang.Config
	train   train.Config
	teacher teacherFlags
	data    data.Config
	reward  reward.Config
	eval    evalFlags
	apart   apartFlags
	debug   debugFlags
	line    lineFlags
	track   trackFlags
}

// runFlags say where a run is written.
type runFlags struct {
	Dir    string `flag:"run-dir" help:"directory of the run; without it, runs/ and the run's id"`
	ID     string `flag:"run-id" help:"name of the run; without it, the time it began"`
	Resume bool   `flag:"resume" help:"go on with the run in --run-dir from its newest checkpoint"`
	Keep   string `flag:"keep-samples" help:"whose tokens stay on disk: all, last:N, every:K or worst:M cycles; their index rows always stay"`
	Routes string `flag:"keep-experts" help:"of which of these tokens the experts that they went to stay too: all, worst:N (those before the N largest gaps of a cycle), none, or auto: all while a token's take at most 32 bytes, else worst:100. Servers of --rollout-url tell them with --enable-return-routed-experts"`
	Ref    string `flag:"ref-load" help:"reference policy of --use-kl-loss or --kl-coef, in the Hugging Face layout; without it, the policy the run starts from"`
	JSON   bool   `flag:"json" help:"print the closing table as one JSON object in the last line"`
	Save   saveFlags
}

// Validate reports what is wrong with f, in the words of the flags.
func (f runFlags) Validate() error {
	_, keep := samples.ParseKeep(f.Keep)
	_, routes := samples.ParseKeepExperts(f.Routes)
	var resume error
	if f.Resume && f.Dir == "" {
		resume = errors.New("--resume needs --run-dir: which run shall go on?")
	}
	return errors.Join(keep, routes, resume, f.checkID())
}

// checkID reports a name that the files and pages of a run could not write down as it is.
func (f runFlags) checkID() error {
	if !utf8.ValidString(f.ID) || strings.ContainsFunc(f.ID, unicode.IsControl) {
		return fmt.Errorf("--run-id is %q, want a name in UTF-8 without control characters", f.ID)
	}
	return nil
}

// sampleFlags say how responses are drawn.
type sampleFlags struct {
	Temperature float64 `flag:"rollout-temperature" help:"temperature of rollout; 0 takes the likeliest token"`
	TopP        float64 `flag:"rollout-top-p" help:"keep the likeliest tokens that together have this probability"`
	TopK        int     `flag:"rollout-top-k" help:"keep this many of the likeliest tokens; -1 or 0 for all"`
	MinP        float64 `flag:"rollout-min-p" help:"keep tokens at least this share as likely as the likeliest"`
	MaxTokens   int     `flag:"rollout-max-response-len" help:"longest response, in tokens"`
}

func defaultSample() sampleFlags {
	return sampleFlags{Temperature: 1, TopP: 1, TopK: -1, MaxTokens: 1024}
}

// check reports everything that is wrong with f, in the words of flags that begin with prefix.
func (f sampleFlags) check(prefix string) error {
	flag := func(name string) string { return "--" + prefix + "-" + name }
	var extreme error
	if t := f.Temperature; t > 0 && t < coldest || t > hottest && !math.IsInf(t, 1) {
		extreme = fmt.Errorf("%s is %v, want 0, or %v to %v", flag("temperature"), t, coldest, hottest)
	}
	return errors.Join(extreme, sample.Validate(f.parameters(), sample.Names{
		Temperature: flag("temperature"), TopP: flag("top-p"), TopK: flag("top-k"), MinP: flag("min-p"), MaxTokens: flag("max-response-len"),
	}))
}

// Temperatures that logits are divided by. Beyond these bounds the quotients are all alike, or overflow: whoever asks for more means 0, or has a digit too many.
const coldest, hottest = 1e-6, 1e6

// parameters returns f as sampling knows it: -1, which means all, is 0 there.
func (f sampleFlags) parameters() rl.Sampling {
	if f.TopK == -1 {
		f.TopK = 0
	}
	return rl.Sampling{Temperature: f.Temperature, TopP: f.TopP, TopK: f.TopK, MinP: f.MinP, MaxTokens: f.MaxTokens}
}

func (f sampleFlags) sampling(tok tokenizer.Tokenizer) rl.Sampling {
	s := f.parameters()
	s.StopIDs = []int32{tok.EOS()}
	return s
}

// newTrainFlags returns the defaults.
func newTrainFlags() *trainFlags {
	f := &trainFlags{
		model: defaultModel(), loop: orchestrator.Default(), sample: defaultSample(), rollout: rollout.Default(),
		servers: sglang.Default(), train: train.Default(), data: data.Default(), reward: reward.Default(), eval: defaultEval(),
	}
	f.run.Keep, f.run.Routes, f.batch.Steps, f.teacher.Type = "all", "auto", 1, "megatron"
	f.line.Layout = layout.Default()
	f.run.Save, f.debug = defaultSave(), defaultDebug()
	f.page, f.track = defaultPage(), defaultTrack()
	return f
}

// mixed reports whether the two engines hold weights or attention state in different formats.
func (f *trainFlags) mixed() bool {
	return f.train.Format != f.rollout.Format || f.train.KV != f.rollout.KV
}

// set registers f for the command of a name.
func (f *trainFlags) set(command, purpose string) *config.Set {
	set := config.New(command, purpose).Layered("tiny-arithmetic")
	set.Add("Run", &f.run, &f.page, &f.talk).Add("Model", &f.model).Add("Loop", &f.loop, &f.batch).Add("Sampling", &f.sample)
	set.Add("Training", &f.train, &f.teacher).Add("Rollout engine", &f.rollout).Add("Rollout servers", &f.servers)
	set.Add("Data", &f.data).Add("Reward", &f.reward).Add("Evaluation", &f.eval, &f.apart).Add("Debugging", &f.debug)
	set.Add("Trackers", &f.track)
	set.Add("Checks", &together{f}, &graded{f}, &loops{f, set})
	return f.registerLine(set, os.Environ())
}

// together checks what several groups of flags say of one thing.
type together struct{ f *trainFlags }

// Validate reports flags that contradict each other.
func (t *together) Validate() error {
	f := t.f
	errs := []error{t.checkAlgorithm(), t.checkGather()}
	errs = append(errs, f.sample.check("rollout"), f.checkReplay())
	longest, flag := f.sample.MaxTokens, "rollout"
	if own := f.eval.sample(f.sample); own != f.sample {
		errs = append(errs, own.check("eval"))
		if own.MaxTokens > longest {
			longest, flag = own.MaxTokens, "eval"
		}
	}
	if longest >= f.rollout.Context {
		errs = append(errs, fmt.Errorf("--context-length is %d, want more than --%s-max-response-len (%d)", f.rollout.Context, flag, longest))
	}
	if f.isRemote() && f.rollout.CheckUpdates {
		errs = append(errs, errors.New("--check-weight-update-equal overwrites and compares the engine inside, want it without --rollout-url"))
	}
	for _, u := range f.apart.servers() {
		if slices.Contains(f.servers.Servers(), u) {
			errs = append(errs, fmt.Errorf("--eval-url and --rollout-url both name %s: it can't serve two versions at once", u))
		}
	}
	if n := f.reward.Buffer; n > f.sample.MaxTokens {
		errs = append(errs, fmt.Errorf("--overlong-buffer-len is %d, want at most --rollout-max-response-len (%d): every response would lose reward", n, f.sample.MaxTokens))
	}
	if f.data.File != "" && f.data.LabelKey == "" {
		errs = append(errs, errors.New("--prompt-data is given without --label-key: where are the gold answers?"))
	}
	return errors.Join(errs...)
}

// graded checks that there is a grader for the data that is given. The recipe's own problems bring theirs along.
type graded struct{ f *trainFlags }

// Validate reports data whose responses nobody judges.
func (g *graded) Validate() error {
	if g.f.reward.Type != "" {
		return nil
	}
	var errs []error
	if g.f.data.File != "" {
		errs = append(errs, errors.New("--prompt-data is given without --rm-type: how are its responses judged?"))
	}
	if len(g.f.eval.Data) > 0 {
		errs = append(errs, errors.New("--eval-prompt-data is given without --rm-type: how are its responses judged?"))
	}
	return errors.Join(errs...)
}
