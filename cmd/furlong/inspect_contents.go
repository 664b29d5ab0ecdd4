package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"furlong/checkpoint"
	"furlong/checkpoint/hf"
	"furlong/checkpoint/safetensors"
	"furlong/config"
	"furlong/model/dsv4"
	"furlong/orchestrator"
)

// contents is what inspect found. Parts that a path does not have are nil.
type contents struct {
	Path      string              `json:"path"`
	Kind      string              `json:"kind"`
	Loop      *orchestrator.Saved `json:"loop,omitempty"`
	Optimizer *optimizerContents  `json:"optimizer,omitempty"`
	Model     *modelContents      `json:"model"`
	Unread    []string            `json:"unread,omitempty"` // what of a damaged checkpoint could not be read
}

// modelContents is what a set of tensors holds.
type modelContents struct {
	Config     *dsv4.Config      `json:"config,omitempty"` // nil where there is no config.json
	Scheme     string            `json:"scheme"`           // of the names; "" if they are no model's
	Tensors    int               `json:"tensors"`
	Bytes      int64             `json:"bytes"`
	Parameters int64             `json:"parameters"`                     // without routing tables, scales and draft layers
	Active     int64             `json:"parameters_per_token,omitempty"` // without the embedding; 0 if there is no config.json
	Draft      int64             `json:"draft_parameters,omitempty"`     // of layers that predict further tokens
	Formats    []formatContents  `json:"formats"`
	Metadata   map[string]string `json:"metadata,omitempty"`
	List       []tensorContents  `json:"list,omitempty"`
	Wrong      []string          `json:"wrong,omitempty"`  // tensors that are not those of config.json's model
	Digest     string            `json:"digest,omitempty"` // of names, formats, shapes and digests, in the order of names
	State      *stateContents    `json:"state,omitempty"`  // nil without --digest, and where it is not known what model this is
}

// formatContents counts the tensors of one format.
type formatContents struct {
	Format  string `json:"format"`
	Tensors int    `json:"tensors"`
	Numbers int64  `json:"numbers"`
	Bytes   int64  `json:"bytes"`
}

type tensorContents struct {
	Name   string `json:"name"`
	Format string `json:"format"`
	Shape  []int  `json:"shape"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256,omitempty"`
}

// inspect finds out what opts.Path is, and what is in it.
func inspect(ctx context.Context, opts inspectOptions) (*contents, error) {
	c := &contents{Path: opts.Path}
	info, err := os.Stat(opts.Path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		c.Kind = "safetensors file"
		return c, c.readFile(ctx, opts)
	}
	if c.Kind, err = kindOf(opts.Path); err != nil {
		return nil, err
	}
	switch c.Kind {
	case runKind:
		if c.Loop, err = orchestrator.ReadSaved(opts.Path); err != nil {
			return nil, err
		}
		return c, c.excuse(c.readTrainer(ctx, filepath.Join(opts.Path, "trainer"), opts))
	case trainerKind:
		return c, c.readTrainer(ctx, opts.Path, opts)
	}
	return c, c.readModel(ctx, opts.Path, opts)
}

// What a directory is.
const (
	runKind     = "checkpoint of a run"
	trainerKind = "state of a trainer"
	modelKind   = "model"
)

// kindOf returns what a directory is, by the files that it has.
func kindOf(dir string) (string, error) {
	has := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}
	switch {
	case has("manifest.json"):
		return runKind, nil
	case has("optimizer.safetensors"):
		return trainerKind, nil
	case has("model.safetensors"), has("model.safetensors.index.json"):
		return modelKind, nil
	case has("checkpoints"):
		return "", fmt.Errorf("%s is the directory of a run, want one of its checkpoints: %s", dir, filepath.Join(dir, "checkpoints", "step-*"))
	}
	return "", fmt.Errorf("%s has neither model.safetensors, model.safetensors.index.json, optimizer.safetensors nor manifest.json: it is no checkpoint", dir)
}

// modelIn returns where the model's files are in a directory of any kind.
func modelIn(dir string) (string, error) {
	kind, err := kindOf(dir)
	switch kind {
	case runKind:
		dir = filepath.Join(dir, "trainer", "model")
	case trainerKind:
		dir = filepath.Join(dir, "model")
	}
	return dir, err
}

// excuse takes an error of reading for what it is where the manifest has shown damage.
func (c *contents) excuse(err error) error {
	if len(c.Loop.Damage) == 0 || errors.Is(err, context.Canceled) {
		return err
	}
	for _, p := range config.Problems(err) {
		c.Unread = append(c.Unread, p.Error())
	}
	return nil
}

func (c *contents) readFile(ctx context.Context, opts inspectOptions) (err error) {
	f, err := safetensors.Open(opts.Path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	c.Model = &modelContents{Metadata: f.Metadata()}
	return c.Model.read(ctx, f, opts)
}

// readModel reads a directory in the Hugging Face layout. Its config.json may be missing.
func (c *contents) readModel(ctx context.Context, dir string, opts inspectOptions) (err error) {
	m := &modelContents{}
	raw, err := m.readConfig(dir)
	if err != nil {
		return err
	}
	src, err := safetensors.OpenDir(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	if err := m.read(ctx, src, opts); err != nil {
		return err
	}
	if m.Config != nil {
		m.compare(src, raw)
	}
	if opts.Digest && m.Config != nil && len(m.Wrong) == 0 {
		if m.State, err = readState(ctx, dir, opts); err != nil {
			return err
		}
	}
	c.Model = m
	return nil
}

// readConfig reads the configuration of a directory, if it has one, and returns its text.
func (m *modelContents) readConfig(dir string) ([]byte, error) {
	path := filepath.Join(dir, "config.json")
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	cfg, err := dsv4.ReadConfig(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	m.Config = &cfg
	return data, nil
}

// optimizerContents is what is kept of an optimizer.
type optimizerContents struct {
	Steps   string `json:"steps"` // taken, as the file says
	Tensors int    `json:"tensors"`
	Bytes   int64  `json:"bytes"`
}

// readTrainer reads a model and its optimizer.
func (c *contents) readTrainer(ctx context.Context, dir string, opts inspectOptions) error {
	return errors.Join(c.readOptimizer(dir), c.readModel(ctx, filepath.Join(dir, "model"), opts))
}

func (c *contents) readOptimizer(dir string) (err error) {
	f, err := safetensors.Open(filepath.Join(dir, "optimizer.safetensors"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	c.Optimizer = &optimizerContents{Steps: f.Metadata()["steps"]}
	for _, name := range f.Names() {
		info, _ := f.Info(name)
		c.Optimizer.Tensors++
		c.Optimizer.Bytes += info.Bytes()
	}
	return nil
}

// read counts what src holds.
func (m *modelContents) read(ctx context.Context, src checkpoint.Source, opts inspectOptions) error {
	names := src.Names()
	if s, err := hf.DetectScheme(names); err == nil {
		m.Scheme = s.String()
	}
	m.count(src, names)
	if !opts.Tensors && !opts.Digest {
		return nil
	}
	for _, name := range names {
		t, err := describe(src, name, opts.Digest)
		if err := errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		m.List = append(m.List, t)
	}
	if opts.Digest {
		m.Digest = digestOf(m.List)
	}
	return nil
}

func describe(src checkpoint.Source, name string, digest bool) (tensorContents, error) {
	info, _ := src.Info(name)
	out := tensorContents{Name: name, Format: info.Type.String(), Shape: info.Shape, Bytes: info.Bytes()}
	if !digest {
		return out, nil
	}
	t, err := src.Tensor(name)
	if err != nil {
		return out, err
	}
	sum := sha256.Sum256(t.Mem)
	out.SHA256 = hex.EncodeToString(sum[:])
	return out, nil
}

// digestOf depends on names and tensors alone, not on their order or on how they are spread over files.
func digestOf(list []tensorContents) string {
	lines := make([]string, len(list))
	for i, t := range list {
		lines[i] = fmt.Sprintf("%s %s %v %s\n", t.Name, t.Format, t.Shape, t.SHA256)
	}
	slices.Sort(lines)
	h := sha256.New()
	for _, l := range lines {
		h.Write([]byte(l))
	}
	return hex.EncodeToString(h.Sum(nil))
}
