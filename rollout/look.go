package rollout

import (
	"context"

	"furlong/tensor"
)

// Look lets f read the weights that are served, and what is derived from them. Passes go on meanwhile; updates wait.
func (e *Engine) Look(ctx context.Context, f func(params []*tensor.Param)) error {
	done, err := e.hold(ctx)
	if err != nil {
		return err
	}
	defer done()
	f(e.m.Params())
	return nil
}

// Shed gives back the memory of the set of weights that is not served. The next update takes it again.
func (e *Engine) Shed(ctx context.Context) error {
	done, err := e.hold(ctx)
	if err != nil {
		return err
	}
	defer done()
	e.staged = nil
	return nil
}
