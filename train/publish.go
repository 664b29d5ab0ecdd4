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
// checkpoint of them would be. A weight that the actor quantises already must be in the recipe's format. It takes memory for what is packed.
func (e *Engine) PublishAs(r quant.Recipe) error {
	packed := make([]*tensor.Param, len(e.actor.Params()))
	for i, p := range e.actor.Params() {
		q := *p
		q.Grad = nil
		packed[i] = &q
		f := r.Format(p.Name)
		switch have := quant.FormatOf(p.Value); {
		case have == f: // the actor's own memory
		case have != (quant.Format{}):
			return fmt.Errorf("train: %s: the actor holds it %v, want %v or not quantised to publish by recipe %v", p.Name, have, f, r)
		default:
			q.Value = f.New(quant.Fused(p.Name), p.Value.Shape...)
		}
		q.Rounds = f != (quant.Format{}) && r.Rounds
	}
	e.packed = packed
	return nil
}

// Publish returns the actor's weights under version v, in the formats of PublishAs or the actor's own. They must be read before the next Step.
func (e *Engine) Publish(v rl.Version) rl.Weights {
	if e.packed == nil {
		return Weights(v, e.actor.Params())
	}
	for i, p := range e.actor.Params() {
		if q := e.packed[i].Value; q != p.Value {
			quant.Pack(q, p.Value)
		}
	}
	return Weights(v, e.packed)
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
