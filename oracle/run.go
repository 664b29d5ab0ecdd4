package oracle

import (
	"context"
	"strings"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/model/dsv4"
)

// Options says what to check with.
type Options struct {
	Fast      kernels.Backend // float32: held to the limits of a float32 engine
	Reference kernels.Backend // float64: held to the vectors' own rounding; nil leaves it out
	Progress  func(stage string)
}

// Run checks everything that dir holds.
func Run(ctx context.Context, dir string, o Options) (*Report, error) {
	v, err := open(dir)
	if err != nil {
		return nil, err
	}
	defer v.close()
	rep := newReport()
	for _, s := range stages(ctx, v, o) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if o.Progress != nil {
			o.Progress(s.name)
		}
		if err := s.run(rep); err != nil {
			return nil, err
		}
	}
	left := v.unread()
	rep.note("vectors left unread", float64(len(left)), strings.Join(left[:min(3, len(left))], " "))
	rep.require("float32 logits", "float32 logprobs", "float32 gradients", "float32 gradient digests",
		"float32 router choices", "decode logits", "greedy tokens", "adamw losses", "rotation frequencies")
	if v.cfg.Has(dsv4.C4) {
		rep.require("float32 indexer choices")
	}
	return rep, nil
}

// fastPrecision is what a float32 engine may miss: docs/formats/oracle.md.
func fastPrecision(k kernels.Backend) precision {
	return precision{"float32", k, dtype.F32, 5e-5, 3e-6, 1e-5, 1e-4}
}

type stage struct {
	name string
	run  func(*Report) error
}

func stages(ctx context.Context, v *vectors, o Options) []stage {
	fast := fastPrecision(o.Fast)
	// The vectors' truths are float64 and their traces and whole gradients float32.
	wide := precision{"float64", o.Reference, dtype.F64, 1e-9, 1e-11, 1e-5, 1e-6}
	s := []stage{{"float32", func(rep *Report) error {
		r, err := newRunner(fast, v)
		if err != nil {
			return err
		}
		if err := r.cases(v, rep); err != nil {
			return err
		}
		if err := r.decode(v, rep); err != nil {
			return err
		}
		return r.adamw(v, rep)
	}}, {"rotations", func(rep *Report) error {
		return rotations(v, rep)
	}}, {"greedy", func(rep *Report) error {
		return greedy(ctx, v, o.Fast, rep)
	}}, {"number formats", func(rep *Report) error {
		return codecs(v, rep)
	}}}
	if o.Reference != nil {
		s = append(s, stage{"float64", func(rep *Report) error {
			r, err := newRunner(wide, v)
			if err != nil {
				return err
			}
			return r.cases(v, rep)
		}})
	}
	return s
}
