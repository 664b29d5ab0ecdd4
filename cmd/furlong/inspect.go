package main

import (
	"context"
	"encoding/json"
	"fmt"

	"furlong/config"
)

const inspectPurpose = `Says what is in a checkpoint: a safetensors file, a directory in the Hugging Face layout, a trainer's state, or a checkpoint of a
run, whose files are held against its manifest. Names and shapes of a model's tensors are held against its config.json. Only names, formats and shapes are read, and
with --digest all numbers.`

// inspectOptions say how much is told.
type inspectOptions struct {
	Path    string `arg:"PATH" help:"file or directory"`
	JSON    bool   `flag:"json" help:"print one JSON object"`
	Tensors bool   `flag:"tensors" help:"list every tensor"`
	Digest  bool   `flag:"digest" help:"list every tensor with the SHA-256 of its bytes, and one digest of them all"`
}

func runInspect(ctx context.Context, e *env) int {
	var opts inspectOptions
	set := config.New("inspect", inspectPurpose).Add("Flags", &opts)
	set.Example("furlong inspect runs/today/checkpoints/step-000010", "a checkpoint of a run")
	set.Example("furlong inspect --tensors model.safetensors", "every tensor of a file")
	set.Example("furlong inspect --digest --json model/", "what two equal models agree in")
	if code, ok := e.parse(set); !ok {
		return code
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
