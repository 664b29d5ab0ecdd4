package train

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"furlong/quant"
	"furlong/rl"
	"furlong/tensor"
	"furlong/weightsync"
)

// PublishAs makes publications come in the formats of a recipe, for a rollout engine that holds its weights so: packed from the actor's as a
// checkpoint of them would be. It takes memory for what is packed.
func (e *Engine) PublishAs(r quant.Recipe) error {
	replica, err := quant.NewReplica(e.actor.Params(), r, e.actor.Head().Value.Type)
	if err != nil {
		return fmt.Errorf("train: publish by recipe %v: %w", r, err)
	}
	e.replica = replica
	return nil
}

// Publish returns the actor's weights under version v, in the formats of PublishAs or the actor's own. They must be read before the next Step.
func (e *Engine) Publish(v rl.Version) rl.Weights {
	if e.replica == nil {
		return Weights(v, e.actor.Params())
	}
	return Weights(v, e.replica.Refresh())
}

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
