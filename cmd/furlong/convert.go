package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"furlong/checkpoint/convert"
	"furlong/checkpoint/hf"
	"furlong/checkpoint/safetensors"
	"furlong/config"
	"furlong/model/dsv4"
	"furlong/progress"
	"furlong/quant"
)

const convertPurpose = `Writes a checkpoint anew: in other formats of weights, with other names, cut into other files. Every tensor of the source is accounted for,
and for every weight of the destination it is told how it came about and what that cost. The destination has its name only when it is whole; an
interrupted conversion goes on when the same command is given again.

Formats: bf16 leaves no weight quantised; fp8 stores projections and experts as E4M3 in blocks of 128x128 with scales that are powers of two;
fp8+fp4 stores routed experts as E2M1 in groups of 32 instead. FP4 becomes FP8 without rounding. Names: ref as in released files, hybrid as
transformers saves them, memory as transformers calls its modules, wire as rollout engines take them; source keeps those of the source.`

// convertOptions say what is converted to what.
type convertOptions struct {
	From       string `flag:"from" help:"directory in the Hugging Face layout"`
	To         string `flag:"to" help:"directory to write; must not exist or be empty"`
	Format     string `flag:"format" choices:"bf16 fp8 fp8+fp4" help:"formats of weights"`
	Scheme     string `flag:"scheme" choices:"source ref hybrid memory wire" help:"names of tensors"`
	ShardBytes int64  `flag:"shard-bytes" help:"largest file, if tensors allow; 0 writes one file"`
	AllowNaN   bool   `flag:"allow-nan" help:"keep numbers that are NaN or infinite, and count them; without it the first tensor that has some ends the conversion"`
	Verify     bool   `flag:"verify" help:"then read what was written again, and compute logits of both checkpoints, in float32, and compare them; needs memory for the model"`
	Threads    int    `flag:"threads" help:"processor threads of --verify; 0 takes all"`
	JSON       bool   `flag:"json" help:"print one JSON object: every tensor with its digest, every weight with its loss"`
}

// Validate reports what is wrong with o, in the words of the flags.
func (o convertOptions) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for flag, value := range map[string]string{"--from": o.From, "--to": o.To, "--format": o.Format} {
		if value == "" {
			bad("%s is missing", flag)
		}
	}
	if o.ShardBytes < 0 {
		bad("--shard-bytes is %d, want 0 or more", o.ShardBytes)
	}
	return errors.Join(append(errs, checkThreads(o.Threads))...)
}

// converted is what the command prints.
type converted struct {
	*convert.Report
	From   string    `json:"from"`
	To     string    `json:"to"`
	Verify *verified `json:"verify,omitempty"`
}

func runConvert(ctx context.Context, e *env) int {
	var quiet talk
	opts := convertOptions{Scheme: "source", ShardBytes: 5 << 30}
	set := config.New("convert", convertPurpose).Add("Flags", &opts, &quiet)
	set.Example("furlong convert --from model --to model-fp8 --format fp8", "for an engine on FP8 weights")
	set.Example("furlong convert --from DeepSeek-V4-Flash --to flash-bf16 --format bf16 --scheme memory", "a released checkpoint widened, for transformers")
	if code, ok := e.parse(set); !ok {
		return code
	}
	out, err := e.convert(ctx, opts, quiet)
	if err != nil {
		return e.unfinished(err, opts.To)
	}
	if opts.JSON {
		err = json.NewEncoder(e.stdout).Encode(out)
	} else {
		_, err = io.WriteString(e.stdout, out.text())
	}
	return e.fail(errors.Join(err, out.Verify.check(out.Loss)))
}

// unfinished reports err, and what can be done with what is there.
func (e *env) unfinished(err error, to string) int {
	code, stage := e.fail(err), safetensors.Stage(to)
	if _, none := os.Stat(stage + ".jsonl"); none != nil {
		return code
	}
	switch {
	case errors.Is(err, context.Canceled):
		fmt.Fprintf(e.stderr, "furlong convert: what is done is kept in %s; the same command goes on with it\n", stage)
	case errors.Is(err, convert.ErrNotFinite):
		fmt.Fprintf(e.stderr, "furlong convert: what is done is kept in %s; the same command with --allow-nan keeps such numbers and goes on, or remove it and %s.jsonl\n", stage, stage)
	case errors.Is(err, convert.ErrSpoils):
		fmt.Fprintf(e.stderr, "furlong convert: what is done is left in %s, but nothing can go on with it: mend the source or choose a format that leaves the tensor as it is, and remove it and %s.jsonl\n", stage, stage)
	}
	return code
}

// convert does what the options say, and compares if they say so.
func (e *env) convert(ctx context.Context, opts convertOptions, quiet talk) (*converted, error) {
	how, cfg, err := opts.resolve()
	if err != nil {
		return nil, err
	}
	var line *progress.Line
	how.Progress = func(done, total int64) {
		if line == nil {
			line = e.follow("convert", "bytes", total, quiet)
		}
		line.Set(done, "")
	}
	rep, err := convert.Run(ctx, opts.From, opts.To, how)
	if line != nil {
		line.Finish()
	}
	if err != nil {
		return nil, err
	}
	out := &converted{Report: rep, From: opts.From, To: opts.To}
	if opts.Verify {
		if err := rep.Check(opts.To); err != nil {
			return nil, err
		}
		out.Verify, err = verify(ctx, cfg, opts)
	}
	return out, err
}

// resolve returns the options of the conversion, and the source's model.
func (o convertOptions) resolve() (convert.Options, dsv4.Config, error) {
	at := filepath.Join(o.From, "config.json")
	raw, err := os.ReadFile(at)
	if err != nil {
		return convert.Options{}, dsv4.Config{}, err
	}
	cfg, err := dsv4.ReadConfig(raw)
	if err != nil {
		return convert.Options{}, dsv4.Config{}, fmt.Errorf("%s: %w", at, err)
	}
	how := convert.Options{Layers: len(cfg.Layers), Experts: cfg.Experts, ShardBytes: o.ShardBytes, KeepNotFinite: o.AllowNaN, Params: dsv4.Shapes(cfg)}
	if how.Recipe, err = quant.ParseRecipe(o.Format); err != nil {
		return how, cfg, err
	}
	if o.Scheme != "source" {
		how.Scheme, err = hf.ParseScheme(o.Scheme)
	}
	return how, cfg, err
}

// text says it for people.
func (c *converted) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s -> %s\n%s", c.From, c.To, c.Report)
	if v := c.Verify; v != nil {
		fmt.Fprintf(&b, "verify %s\n", v)
	}
	return b.String()
}
