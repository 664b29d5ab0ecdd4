package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"

	"furlong/checkpoint/hf"
	"furlong/model/dsv4"
	"furlong/server"
)

// own makes the engine hold weights as the checkpoint does, unless a flag says how.
func (f *serveFlags) own() error {
	if f.rollout.Format != "" {
		return nil
	}
	f.rollout.Format = "bf16"
	if f.what.Model == "" || f.what.LoadFormat == "dummy" {
		return nil
	}
	at := filepath.Join(f.what.Model, "config.json")
	raw, err := os.ReadFile(at)
	if err != nil {
		return err
	}
	cfg, err := dsv4.ReadConfig(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	r, err := hf.ReadRecipe(f.what.Model, hf.LoadOptions{Layers: len(cfg.Layers), Experts: cfg.Experts})
	if err != nil {
		return err
	}
	f.rollout.Format = r.String()
	return nil
}

// weights returns what a server needs to take up weights: what the engine holds, and the folders that requests may name files of.
func (l *loaded) weights(f *serveFlags) *server.Weights {
	w := &server.Weights{Model: l.held, Base: f.what.Model, Roots: f.where.Roots, Fits: l.fits}
	if len(w.Roots) == 0 && f.what.Model != "" {
		w.Roots = []string{f.what.Model}
	}
	return w
}

// fits says in what the configuration beside a checkpoint is not that of the model that is served: its numbers would mean something else.
func (l *loaded) fits(dir string) error {
	at := filepath.Join(dir, "config.json")
	raw, err := os.ReadFile(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	cfg, err := dsv4.ReadConfig(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	have, want := reflect.ValueOf(cfg), reflect.ValueOf(l.policy.Config())
	for i := range have.NumField() {
		name := have.Type().Field(i).Name
		if a, b := have.Field(i).Interface(), want.Field(i).Interface(); name != "InitRange" && !reflect.DeepEqual(a, b) {
			return fmt.Errorf("%s: %s is %v, want %v as in the model that is served", at, name, a, b)
		}
	}
	return nil
}
