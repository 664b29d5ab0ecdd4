package weightsync

import (
	"strings"
	"testing"

	"furlong/rl"
)

// A part lies over its base: what travels is new, the rest is the base's, and the state is that of both.
func TestPart(t *testing.T) {
	old, fresh := params(1), params(1)
	step(fresh, 1)
	r := &receiver{live: params(2), next: params(3)}
	if err := r.Update(t, Of(1, Flatten(old), Everything)); err != nil {
		t.Fatal(err)
	}
	all := Flatten(fresh)
	sent := 0
	for i := range all {
		if i%2 == 0 {
			copy(all[i].Mem, Flatten(old)[i].Mem)
			all[i].Mem = nil
		}
		sent += len(all[i].Mem)
	}
	w, err := Part(2, all, 1, SumsOf(old))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Update(t, relay{w, shuffle(1), 2}); err != nil {
		t.Fatal(err)
	}
	sameBytes(t, "a part", r.live, fresh)
	if m, err := w.Manifest(t.Context()); err != nil {
		t.Error(err)
	} else if man, err := ParseManifest(m); err != nil || man.Bytes() != sent || man.State != SumsOf(fresh).State() {
		t.Errorf("%d bytes are sent, %v, want %d", man.Bytes(), err, sent)
	}
	for name, held := range map[string]Held{"nothing": {}, "another state": {Version: 1, State: rl.Digest{1}}} {
		r := &receiver{live: params(2), next: params(3), held: held}
		if err := r.Update(t, w); err == nil || !strings.Contains(err.Error(), "delta: it builds on version 1 (") {
			t.Errorf("%s is held: error is %v", name, err)
		}
	}
	if _, err := Part(2, all, 1, SumsOf(old[1:])); err == nil || !strings.Contains(err.Error(), all[0].Name+" does not come, and is not among") {
		t.Errorf("a tensor that nobody has: %v", err)
	}
}
