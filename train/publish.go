package train

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"strings"

	"furlong/rl"
	"furlong/tensor"
)

// published is the actor's weights as they are now: they must not change before they have been read.
type published struct {
	version rl.Version
	params  []*tensor.Param
}

// Publish returns the actor's weights under version v. They must be read before the next Step.
func (e *Engine) Publish(v rl.Version) rl.Weights { return Weights(v, e.actor.Params()) }

// Weights returns parameters as version v of a policy. They must not change before they have been read.
func Weights(v rl.Version, ps []*tensor.Param) rl.Weights { return published{v, ps} }

func (w published) Version() rl.Version { return w.version }

func (w published) Tensors(ctx context.Context) iter.Seq2[rl.Tensor, error] {
	return func(yield func(rl.Tensor, error) bool) {
		for _, p := range w.params {
			if err := ctx.Err(); err != nil {
				yield(rl.Tensor{}, err)
				return
			}
			if !yield(rl.Tensor{Name: p.Name, Type: p.Value.Type.String(), Shape: p.Value.Shape, Data: p.Value.Mem}, nil) {
				return
			}
		}
	}
}

// Digest returns the SHA-256 of every parameter's name, format, shape and bytes, in order: equal digests are equal policies.
func Digest(ps []*tensor.Param) string {
	h := sha256.New()
	for _, p := range ps {
		fmt.Fprintf(h, "%s %v\n", p.Name, p.Value)
		h.Write(p.Value.Mem)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// isGate says whether a parameter is a router's weight.
func isGate(name string) bool { return strings.HasSuffix(name, ".mlp.gate.weight") }
