package intake

import (
	"errors"
	"fmt"
	"strings"

	"furlong/checkpoint"
	"furlong/checkpoint/hf"
	"furlong/quant"
	"furlong/rl"
	"furlong/tensor"
	"furlong/weightsync"
)

// Held is what the engine serves, from which is taken what did not come. The zero Held is nothing.
type Held struct {
	Version rl.Version
	Sums    weightsync.Sums
}

// End closes the session and returns what came as version v, to be taken up by an engine that holds h. It is an error if a parameter came in part,
// or without others that must become visible with it. The result is over the session's memory, which nobody else uses.
func (s *Session) End(v rl.Version, h Held) (rl.Weights, error) {
	var w rl.Weights
	err := s.guard(func() (err error) {
		if err := s.complete(); err != nil {
			return err
		}
		if err := errors.Join(s.decode(), s.finite()); err != nil {
			return err
		}
		w, err = s.weights(v, h)
		return err
	})
	s.ended = true
	return w, err
}

// complete names tensors that came without all others that belong to them.
func (s *Session) complete() error {
	var errs []error
	came := false
	for i, h := range s.held {
		if h != nil {
			came = true
			errs = append(errs, h.missing(s.m.specs[i]))
		}
	}
	if !came {
		return fmt.Errorf("none of the tensors that came has a place in the model: %v", s.report)
	}
	if err := checkpoint.Join(errs); err != nil {
		return err
	}
	for _, g := range s.m.groups {
		errs = append(errs, s.split(g))
	}
	return checkpoint.Join(errs)
}

// missing names what of a parameter did not come.
func (h *held) missing(p *spec) error {
	var first string
	n := 0
	for i, g := range h.got {
		if g.whole() {
			continue
		}
		if n++; first == "" {
			first = p.pieces[i].Name + g.lacks()
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("parameter %q: %d of its %d tensors did not come whole, first %s", p.Name, n, len(h.got), first)
}

// lacks says which half is missing, if it is one.
func (g got) lacks() string {
	switch g {
	case codes:
		return " (its scales are missing)"
	case scales:
		return " (only its scales came)"
	}
	return ""
}

// split says if a group of parameters came in part.
func (s *Session) split(group []string) error {
	var came, missing []string
	for _, name := range group {
		if s.held[s.m.byName[name]] != nil {
			came = append(came, name)
		} else {
			missing = append(missing, name)
		}
	}
	if len(came) == 0 || len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("parameter %q: came without %s, with which it becomes visible", came[0], strings.Join(missing, ", "))
}

// decode makes numbers of codes that came for parameters which are held so. None may change.
func (s *Session) decode() error {
	for i, h := range s.held {
		if h == nil || h.coded == nil {
			continue
		}
		p := s.m.specs[i]
		h.value = p.blank()
		if _, loss := hf.Convert(h.value, h.coded); loss.Changed > 0 {
			return fmt.Errorf("parameter %q: %d of its %d numbers are none of %v, in which it is held", p.Name, loss.Changed, loss.Numbers, p.Value.Type)
		}
		h.coded = nil
	}
	return nil
}

// finite names tensors with numbers that are NaN or infinite, as loading the same checkpoint refuses them. The engine's canary would notice only those
// that its few tokens meet.
func (s *Session) finite() error {
	var errs []error
	for i, h := range s.held {
		if h == nil || h.value == nil || quant.NotFinite(h.value) == 0 {
			continue
		}
		for _, piece := range s.m.specs[i].pieces {
			if n := quant.NotFinite(piece.Of(h.value)); n > 0 {
				errs = append(errs, fmt.Errorf("tensor %q: has numbers that are NaN or infinite: %d", piece.Name, n))
			}
		}
	}
	return checkpoint.Join(errs)
}

// weights returns what came as a version: all of it, or what lies over what is held.
func (s *Session) weights(v rl.Version, h Held) (rl.Weights, error) {
	var all []weightsync.Tensor
	for i, x := range s.held {
		p := s.m.specs[i].Param
		if x != nil {
			p.Value = x.value
		}
		list := weightsync.Flatten([]*tensor.Param{&p})
		if x == nil {
			s.report.Kept += len(list)
		}
		all = append(all, list...)
	}
	switch {
	case s.report.Kept == 0:
		return weightsync.Of(v, all, weightsync.Everything), nil
	case h.Version == 0:
		return nil, fmt.Errorf("%d of %d tensors did not come, and nothing is held from which they could be taken, first %s", s.report.Kept, len(all), s.firstMissing())
	}
	return weightsync.Part(v, all, h.Version, h.Sums)
}

func (s *Session) firstMissing() string {
	for i, h := range s.held {
		if h == nil {
			return s.m.specs[i].Name
		}
	}
	return ""
}
