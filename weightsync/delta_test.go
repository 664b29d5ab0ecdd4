package weightsync

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"furlong/rl"
	"furlong/tensor"
)

// step changes a few bytes of ps: none of some tensors, one of others, all of one.
func step(ps []*tensor.Param, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 4))
	for i, t := range Flatten(ps) {
		for range min(len(t.Mem), i%3) {
			t.Mem[r.IntN(len(t.Mem))] += byte(1 + r.IntN(255))
		}
		if i == 3 {
			for k := range t.Mem {
				t.Mem[k] = byte(r.Uint32())
			}
		}
	}
}

// A receiver is what an engine is to deltas: two sets of weights that it exchanges.
type receiver struct {
	live, next []*tensor.Param
	held       Held
}

func (r *receiver) Update(t *testing.T, w rl.Weights) error {
	held := r.held
	held.Tensors = Flatten(r.live)
	s, err := Take(t.Context(), w, Flatten(r.next), held)
	if err != nil {
		return err
	}
	r.live, r.next = r.next, r.live
	r.held = Held{Version: s.Manifest().Version, State: s.Manifest().State}
	return nil
}

func TestDelta(t *testing.T) {
	for _, size := range bucketSizes {
		ps := params(1)
		r := &receiver{live: params(2), next: params(3)}
		if err := r.Update(t, Of(1, Flatten(ps), size)); err != nil {
			t.Fatal(err)
		}
		for v := rl.Version(2); v < 6; v++ {
			kept := Keep(v-1, Flatten(ps))
			step(ps, uint64(v))
			w, err := Delta(v, Flatten(ps), kept, size)
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Update(t, relay{w, shuffle(uint64(v)), 2}); err != nil {
				t.Fatalf("%s, version %v: %v", sizeName(size), v, err)
			}
			sameBytes(t, fmt.Sprint(sizeName(size), ", version ", v), r.live, ps)
			m, err := w.Manifest(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if man, err := ParseManifest(m); err != nil || man.Bytes() > 3500 || man.Bytes() == 0 {
				t.Errorf("%d bytes of 23 kB are sent, %v", man.Bytes(), err)
			}
		}
	}
}

func TestDeltaRefuses(t *testing.T) {
	ps := params(1)
	kept := Keep(1, Flatten(ps))
	step(ps, 1)
	two := Keep(2, Flatten(ps))
	step(ps, 2)
	w, err := Delta(3, Flatten(ps), two, Everything)
	if err != nil {
		t.Fatal(err)
	}
	before := params(2)
	for name, tt := range map[string]struct {
		held Held
		want string
	}{
		"nothing held":                   {Held{}, "but version 0 ("},
		"a version between is missing":   {Held{Version: 1, State: kept.base.State}, "delta: it builds on version 2 ("},
		"another state of the same name": {Held{Version: 2, State: kept.base.State}, "delta: it builds on version 2 ("},
	} {
		r := &receiver{live: params(2), next: params(3), held: tt.held}
		if err := r.Update(t, w); err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "a version between is missing") {
			t.Errorf("%s: error is %v, want one with %q", name, err, tt.want)
		}
		sameBytes(t, name, r.live, before)
	}
	// The digest says that the base is held, but its bytes went wrong since.
	r := &receiver{live: params(1), next: params(3), held: Held{Version: 2, State: two.base.State}}
	if err := r.Update(t, w); err == nil || !strings.Contains(err.Error(), "digest is ") {
		t.Errorf("a spoilt base: error is %v", err)
	}
	if _, err := Delta(4, Flatten(ps)[1:], two, 0); err == nil {
		t.Error("a delta of other tensors was made")
	}
	ps[3].Value.Type++
	if _, err := Delta(4, Flatten(ps), two, 0); err == nil || !strings.Contains(err.Error(), "sinks") {
		t.Errorf("a delta of another format: %v", err)
	}
}

// A chunk that a delta has no room for shows.
func TestDeltaOfMore(t *testing.T) {
	ps := params(1)
	r := &receiver{live: params(2), next: params(3)}
	if err := r.Update(t, Of(1, Flatten(ps), 0)); err != nil {
		t.Fatal(err)
	}
	kept := Keep(1, Flatten(ps))
	step(ps, 1)
	w, err := Delta(2, Flatten(ps), kept, 0)
	if err != nil {
		t.Fatal(err)
	}
	more := func(all []rl.Chunk) []rl.Chunk {
		c := all[0]
		c.Offset, c.Data = 0, Flatten(ps)[1].Mem[:500]
		c.Name, c.Type, c.Shape, c.Digest = Flatten(ps)[1].Name, Flatten(ps)[1].Type, Flatten(ps)[1].Shape, Digest(c.Data)
		return append(all, c)
	}
	if err := r.Update(t, relay{w, more, 0}); err == nil || !strings.Contains(err.Error(), "q_a_proj.weight (5") {
		t.Errorf("error is %v", err)
	}
}

func TestDifferences(t *testing.T) {
	a := make([]byte, 1000)
	b := make([]byte, 1000)
	if got := differences(a, b); got != nil {
		t.Errorf("differences of equals are %v", got)
	}
	for _, i := range []int{0, 3, 131, 400, 401, 700, 999} {
		b[i] = 1
	}
	if got := fmt.Sprint(differences(a, b)); got != "[{0 132} {400 402} {700 701} {999 1000}]" {
		t.Errorf("differences are %s", got)
	}
	if got := differences(nil, nil); got != nil {
		t.Errorf("differences of nothing are %v", got)
	}
}

// The chain from what is held to a version is the shortest; a gap is named.
func TestChain(t *testing.T) {
	root := t.TempDir()
	ps := params(1)
	write := func(w rl.Weights, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := WriteDir(t.Context(), root, w); err != nil {
			t.Fatal(err)
		}
	}
	states := map[rl.Version]Held{}
	for v := rl.Version(1); v <= 5; v++ {
		kept := Keep(v-1, Flatten(ps))
		step(ps, uint64(v))
		states[v] = Held{Version: v, State: SumsOf(ps).State()}
		if v == 1 || v == 4 {
			write(Of(v, Flatten(ps), 2000), nil)
		} else {
			write(Delta(v, Flatten(ps), kept, 2000))
		}
	}
	for _, tt := range []struct {
		from, to rl.Version
		want     string
	}{{0, 3, "version-1 version-2 version-3"}, {1, 3, "version-2 version-3"}, {2, 3, "version-3"}, {0, 5, "version-4 version-5"}, {3, 5, "version-4 version-5"}, {5, 5, ""}} {
		dirs, err := Chain(root, states[tt.from], tt.to)
		var names []string
		for _, d := range dirs {
			names = append(names, filepath.Base(d))
		}
		if got := strings.Join(names, " "); err != nil || got != tt.want {
			t.Errorf("from %v to %v: %s, %v, want %s", tt.from, tt.to, got, err, tt.want)
		}
	}
	r := &receiver{live: params(2), next: params(3)}
	dirs, err := Chain(root, r.held, 5)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		w, err := OpenDir(d)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Update(t, w); err != nil {
			t.Fatal(err)
		}
	}
	sameBytes(t, "at the end of the chain", r.live, ps)
	if err := os.RemoveAll(filepath.Join(root, "version-2")); err != nil {
		t.Fatal(err)
	}
	if _, err := Chain(root, Held{}, 3); err == nil || !strings.Contains(err.Error(), "version 2 is missing, on which version-3 builds") {
		t.Errorf("a gap: %v", err)
	}
	if _, err := Chain(root, Held{}, 9); err == nil {
		t.Error("a version that is not there was found")
	}
}
