package sglang

import (
	"context"
	"errors"
	"fmt"

	"furlong/api/sglang"
	"furlong/rl"
)

// confirm asks a server what it serves: it must say the label that it was given. The attestation is zero where a server attests nothing.
func (e *Engine) confirm(ctx context.Context, s *server, p *parcel) (a rl.Attestation, err error) {
	var m sglang.ModelInfo
	if err := e.wire.either(ctx, s.url, "/model_info", "/get_model_info", &m); err != nil {
		return a, err
	}
	if m.WeightVersion != p.label {
		return a, fmt.Errorf("%w: weight_version is %q, want %q", errStale, m.WeightVersion, p.label)
	}
	if m.Attested == nil {
		return a, nil
	}
	a = rl.Attestation{Version: p.version, Canary: m.Attested.Canary, Tensors: m.Attested.Tensors, Bytes: m.Attested.Bytes, Cold: m.Attested.Cold}
	if err := errors.Join(a.State.UnmarshalText([]byte(m.Attested.State)), a.Effective.UnmarshalText([]byte(m.Attested.Effective))); err != nil {
		return a, fmt.Errorf("attestation: %w", err)
	}
	if a.State != p.man.State {
		return a, fmt.Errorf("%w: it attests state %v, want %v: does it hold weights in another format?", errStale, a.State, p.man.State)
	}
	return a, nil
}

// agreed returns what all servers that took a version attest; zero if one attests nothing. Their states are one; what they derived from it may differ
// where their backends do, and is then not told.
func agreed(errs []error, told []rl.Attestation) (all rl.Attestation) {
	first := true
	for i, a := range told {
		switch {
		case errs[i] != nil:
		case a.Version == 0:
			return rl.Attestation{}
		case first:
			all, first = a, false
		default:
			if a.Effective != all.Effective {
				all.Effective, all.Canary = rl.Digest{}, nil
			}
			all.Cold = all.Cold && a.Cold
		}
	}
	return all
}

// Attesting is an engine whose servers attest what they serve.
type Attesting struct{ *Engine }

// Attestation says what the servers attest since the last update.
func (a Attesting) Attestation() rl.Attestation {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.told
}

// Rollout returns e as the loop takes it: as an [rl.Attester] only if all servers attest something.
func (e *Engine) Rollout() rl.RolloutEngine {
	for _, s := range e.servers {
		if !e.attests(s) {
			return e
		}
	}
	return Attesting{e}
}

var _ rl.Attester = Attesting{}
