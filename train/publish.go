package train

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"furlong/rl"
	"furlong/tensor"
	"furlong/weightsync"
)

// Publish returns the actor's weights under version v. They must be read before the next Step.
func (e *Engine) Publish(v rl.Version) rl.Weights { return Weights(v, e.actor.Params()) }

// Weights returns parameters as version v of a policy. They must not change before they have been read.
func Weights(v rl.Version, ps []*tensor.Param) rl.Weights {
	return weightsync.Of(v, weightsync.Flatten(ps), weightsync.Everything)
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
