package main

import (
	"fmt"
	"slices"

	"furlong/checkpoint"
	"furlong/checkpoint/hf"
	"furlong/config"
	"furlong/model/dsv4"
	"furlong/tensor"
)

// compare holds the tensors of src against those that the model of its config.json has, by name and shape, whatever format they are stored in. raw is
// config.json, which may say of formats what the tensors contradict.
func (m *modelContents) compare(src checkpoint.Source, raw []byte) {
	survey, err := hf.Look(src, hf.LoadOptions{Layers: len(m.Config.Layers), Experts: m.Config.Experts, Config: raw})
	for _, p := range config.Problems(err) {
		m.Wrong = append(m.Wrong, p.Error())
	}
	if survey == nil {
		return
	}
	have := map[string]hf.Weight{}
	for _, w := range survey.Weights {
		have[w.Name] = w
	}
	for _, p := range dsv4.Shapes(*m.Config) {
		m.compareParam(survey.Scheme, p, have)
	}
	for _, w := range survey.Weights {
		if _, left := have[w.Name]; left {
			m.Wrong = append(m.Wrong, fmt.Sprintf("tensor %q: is of no parameter of the model in config.json", w.Name))
		}
	}
}

// compareParam compares the tensors of one parameter, and takes them out of have.
func (m *modelContents) compareParam(s hf.Scheme, p *tensor.Param, have map[string]hf.Weight) {
	pieces, err := hf.Pieces(s, p.Name, p.Value.Shape)
	if err != nil {
		m.Wrong = append(m.Wrong, err.Error())
	}
	for _, want := range pieces {
		w, ok := have[want.Name]
		switch {
		case !ok:
			m.Wrong = append(m.Wrong, fmt.Sprintf("tensor %q: is missing, wanted for parameter %q", want.Name, p.Name))
		case w.Shape != nil && !slices.Equal(w.Shape, want.Shape):
			m.Wrong = append(m.Wrong, fmt.Sprintf("tensor %q: has shape %v, want %v", want.Name, w.Shape, want.Shape))
		}
		delete(have, want.Name)
	}
}
