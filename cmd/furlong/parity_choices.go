package main

import (
	"os"
	"path/filepath"

	"furlong/model/dsv4"
	"furlong/parity"
	"furlong/rl"
	"furlong/starter"
)

// expertsOf returns experts as a comparison has them, nil for none.
func expertsOf(r *rl.Routes) (out []parity.Choice) {
	if r.Len() == 0 {
		return nil
	}
	for layer := range r.Layers {
		c := parity.Choice{Layer: layer, Width: r.Choices}
		for t := range r.Len() {
			c.IDs = r.At(c.IDs, t, layer)
		}
		out = append(out, c)
	}
	return out
}

// entriesOf returns the compressed entries that indexers chose as a comparison has them, nil for none.
func entriesOf(e *rl.Entries) ([]parity.Choice, error) {
	if e.Len() == 0 {
		return nil, nil
	}
	var out []parity.Choice
	for i, layer := range e.Layers {
		c := parity.Choice{Layer: layer, Width: e.Most}
		rows := e.Rows[i]
		for t := range e.Tokens {
			var err error
			if c.IDs, rows, err = e.Unpack(c.IDs, t, rows); err != nil {
				return nil, err
			}
			for len(c.IDs) < (t+1)*c.Width {
				c.IDs = append(c.IDs, -1)
			}
		}
		out = append(out, c)
	}
	return out, nil
}

// routesOf returns routes of no tokens in the model of --hf-checkpoint, whose experts a server is asked for; nil where that model has none.
func (p *parityJob) routesOf() (*rl.Routes, error) {
	raw := starter.Config
	if dir := p.f.model.Checkpoint; dir != "" {
		var err error
		if raw, err = os.ReadFile(filepath.Join(dir, "config.json")); err != nil {
			return nil, err
		}
	}
	c, err := dsv4.ReadConfig(raw)
	if err != nil || c.TopK == 0 {
		return nil, err
	}
	return rl.NewRoutes(len(c.Layers), c.TopK, c.Experts), nil
}
