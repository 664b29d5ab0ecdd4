package sglang

import (
	"context"
	"errors"
	"fmt"

	"furlong/rl"
)

// confirm asks a server what it serves. It must say the label that it was given.
func (e *Engine) confirm(ctx context.Context, s *server, p *parcel) (rl.Attestation, error) {
	return rl.Attestation{}, e.holds(ctx, s, p.label)
}

// agree holds what servers attest against each other and against what was sent.
func (e *Engine) agree(p *parcel, errs []error, told []rl.Attestation) error {
	for i, a := range told {
		if errs[i] == nil && a.Version != 0 && a.State != p.man.State {
			return errors.Join(fmt.Errorf("%s attests state %v, want %v", e.servers[i].url, a.State, p.man.State))
		}
	}
	return nil
}
