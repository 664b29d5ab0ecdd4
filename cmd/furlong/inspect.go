package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"furlong/config"
)

const inspectPurpose = `Says what is in a checkpoint: a safetensors file, a directory in the Hugging Face layout, a trainer's state, or a checkpoint of a
run, whose files are held against its manifest. Names and shapes of a model's tensors are held against its config.json. Only names, formats and shapes are read, and
with --digest all numbers.

--digest also gives the state of the weights: the digest that a rollout engine attests when it holds them, which a run's log has for each version
and eval --json prints. It does not depend on names or files. --as fp8 packs the weights first, as a trainer does for an engine in FP8. With
two paths, every tensor in which the states differ is named; the exit code is 1 if there is one.`

// inspectOptions say how much is told.
type inspectOptions struct {
	Path    string `arg:"PATH" help:"file or directory"`
	Other   string `arg:"[OTHER]" help:"with --digest, a directory to compare it with"`
	JSON    bool   `flag:"json" help:"print one JSON object"`
	Tensors bool   `flag:"tensors" help:"list every tensor"`
	Digest  bool   `flag:"digest" help:"list every tensor with the SHA-256 of its bytes, and one digest of them all; and the state that an engine attests"`
	As      string `flag:"as" choices:"bf16 fp8 fp8+fp4" help:"with --digest, formats that the state's weights are brought to; without it, their own"`
	Dtype   string `flag:"dtype" choices:"auto bf16 f32" help:"with --digest, format of the state's weights that are not quantised: auto is that of the head"`
}

// Validate reports what is wrong with o, in the words of the flags.
func (o inspectOptions) Validate() error {
	if !o.Digest && (o.As != "" || o.Other != "" || o.Dtype != "auto") {
		return errors.New("--as, --dtype and a second path say how digests are taken and compared: give --digest")
	}
	return nil
}

func runInspect(ctx context.Context, e *env) int {
	opts := inspectOptions{Dtype: "auto"}
	set := config.New("inspect", inspectPurpose).Add("Flags", &opts)
	set.Example("furlong inspect runs/today/checkpoints/step-000010", "a checkpoint of a run")
	set.Example("furlong inspect --tensors model.safetensors", "every tensor of a file")
	set.Example("furlong inspect --digest --json model/", "what two equal models agree in")
	set.Example("furlong inspect --digest --as fp8 model/", "the state that an engine in FP8 attests of it")
	set.Example("furlong inspect --digest a/checkpoints/step-000010 b/checkpoints/step-000010", "in which tensors two runs differ")
	if code, ok := e.parse(set); !ok {
		return code
	}
	if opts.Other != "" {
		return e.compare(ctx, opts)
	}
	c, err := inspect(ctx, opts)
	if err != nil {
		return e.fail(err)
	}
	if err := e.printContents(c, opts.JSON); err != nil {
		return e.fail(err)
	}
	return e.damage(c)
}

func (e *env) printContents(c *contents, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(e.stdout).Encode(c)
	}
	return c.print(e.stdout)
}

// damage names what is not as the manifest or config.json says, and what could not be read; it returns the exit code.
func (e *env) damage(c *contents) int {
	var all []string
	if c.Loop != nil {
		all = append(all, c.Loop.Damage...)
	}
	all = append(all, c.Unread...)
	if c.Model != nil {
		all = append(all, c.Model.Wrong...)
	}
	for _, p := range all {
		fmt.Fprintf(e.stderr, "furlong inspect: %s: %s\n", c.Path, p)
	}
	if len(all) > 0 {
		return exitFailed
	}
	return exitOK
}
