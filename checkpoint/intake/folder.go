package intake

import (
	"errors"

	"furlong/checkpoint/hf"
	"furlong/tensor"
)

var errNotAlone = errors.New("a folder is a whole version: nothing may come before it")

// PutFolder takes up a whole checkpoint, a folder or one file, by what loads it into a new engine: in any scheme, and brought to the formats that are
// held as hf.Convert does. So an engine that takes it up holds the bytes of one that began with it.
func (s *Session) PutFolder(path string) (report *hf.Report, err error) {
	err = s.guard(func() error {
		if s.report.Tensors+s.report.Unknown+s.report.Aside > 0 {
			return errNotAlone
		}
		params := make([]*tensor.Param, len(s.m.specs))
		for i, p := range s.m.specs {
			twin := p.Param
			twin.Value = p.blank()
			params[i] = &twin
		}
		if report, err = hf.Load(path, params, hf.LoadOptions{Layers: s.m.layers, Experts: s.m.experts}); err != nil {
			return err
		}
		s.fill(params)
		s.report.Tensors, s.report.Bytes, s.report.Aside = report.Tensors, report.Bytes, len(report.Aside)
		s.report.Ways[packed] = report.Ways[hf.Packed]
		return nil
	})
	return report, err
}

// fill notes that every tensor came.
func (s *Session) fill(params []*tensor.Param) {
	for i, p := range params {
		h := &held{value: p.Value, got: make([]got, len(s.m.specs[i].pieces))}
		for k := range h.got {
			h.got[k] = numbers
		}
		s.held[i] = h
	}
}
