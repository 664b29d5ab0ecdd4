package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"furlong/checkpoint/hf"
	"furlong/checkpoint/safetensors"
	"furlong/dtype"
	"furlong/model/dsv4"
	"furlong/quant"
	"furlong/rl"
	"furlong/tensor"
	"furlong/weightsync"
)

// stateContents is the state of a checkpoint's weights as an engine attests it: whatever the names and files that they lie in.
type stateContents struct {
	State   rl.Digest     `json:"state"`
	Tensors int           `json:"tensors"`
	Recipe  string        `json:"recipe"`  // bf16, fp8, fp8+fp4
	Formats string        `json:"formats"` // that occur, in words
	List    []sumContents `json:"list"`
}

// sumContents is a tensor as it travels to an engine.
type sumContents struct {
	Name   string    `json:"name"`
	Format string    `json:"format"`
	Shape  []int     `json:"shape"`
	Digest rl.Digest `json:"digest"`
}

// readState reads the weights of a directory, one parameter after the other, and returns what an engine would hold of them: in their own
// formats, or packed anew if others are asked for.
func readState(ctx context.Context, dir string, opts inspectOptions) (*stateContents, error) {
	raw, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil {
		return nil, err
	}
	cfg, err := dsv4.ReadConfig(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	load := hf.LoadOptions{Layers: len(cfg.Layers), Experts: cfg.Experts, Config: raw}
	own, err := hf.ReadRecipe(dir, load)
	if err != nil {
		return nil, err
	}
	plain, err := opts.plain(dir)
	if err != nil {
		return nil, err
	}
	m := dsv4.New(cfg, plain)
	if err := own.Apply(m.Params()); err != nil {
		return nil, err
	}
	b := stateBuilder{as: own, plain: plain}
	if opts.As != "" {
		if b.as, err = quant.ParseRecipe(opts.As); err != nil {
			return nil, err
		}
	}
	load.Each = func(p *tensor.Param) error { return errors.Join(ctx.Err(), b.add(p)) }
	if _, err := hf.Load(dir, m.Params(), load); err != nil {
		return nil, err
	}
	return b.done(), nil
}

// plain returns the format of what is not quantised: what was asked for, or that of the checkpoint's head.
func (o inspectOptions) plain(dir string) (t dtype.Type, err error) {
	switch o.Dtype {
	case "f32":
		return dtype.F32, nil
	case "bf16":
		return dtype.BF16, nil
	}
	src, err := safetensors.OpenDir(dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	for _, name := range []string{"head.weight", "lm_head.weight"} {
		if info, ok := src.Info(name); ok && info.Type == dtype.F32 {
			return dtype.F32, nil
		}
	}
	return dtype.BF16, nil
}

// A stateBuilder collects the digests of parameters that come one at a time.
type stateBuilder struct {
	as    quant.Recipe
	plain dtype.Type
	sums  weightsync.Sums
	infos []weightsync.Tensor // without memory
}

// add takes a parameter up, and its memory away.
func (b *stateBuilder) add(p *tensor.Param) error {
	replica, err := quant.NewReplica([]*tensor.Param{p}, b.as, b.plain)
	if err != nil {
		return err
	}
	as := replica.Refresh()
	as[0].Rounds = false // a checkpoint doesn't say
	b.sums = append(b.sums, weightsync.SumsOf(as)...)
	for _, t := range weightsync.Flatten(as) {
		b.infos = append(b.infos, weightsync.Tensor{Info: t.Info})
	}
	p.Value = nil
	return nil
}

func (b *stateBuilder) done() *stateContents {
	slices.SortFunc(b.sums, func(x, y weightsync.Sum) int { return strings.Compare(x.Name, y.Name) })
	s := &stateContents{State: b.sums.State(), Tensors: len(b.sums), Recipe: formatName(b.as), Formats: weightsync.Recipe(b.infos)}
	for _, x := range b.sums {
		s.List = append(s.List, sumContents{x.Name, x.Type, x.Shape, x.Source})
	}
	return s
}

// formatName leaves out what files don't say: whether products round their activations.
func formatName(r quant.Recipe) string { return strings.TrimSuffix(r.String(), "-weights") }
