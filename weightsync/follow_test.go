package weightsync

import (
	"bytes"
	"sync"
	"testing"

	"furlong/dtype"
	"furlong/rl"
	"furlong/tensor"
)

// A progress is what a follower saw of one tensor.
type progress struct {
	last, falls int
	whole       bool
}

// watch returns a follower that fails if what it is told of is not there.
func watch(t *testing.T, into, want []Tensor) (Follower, map[string]*progress) {
	seen, mem, right := map[string]*progress{}, map[string][]byte{}, map[string][]byte{}
	for i := range into {
		seen[into[i].Name], mem[into[i].Name], right[want[i].Name] = &progress{}, into[i].Mem, want[i].Mem
	}
	var mu sync.Mutex
	return func(name string, n int) {
		mu.Lock()
		defer mu.Unlock()
		p := seen[name]
		if p.whole {
			t.Errorf("%s: %d bytes after all of them", name, n)
		}
		if n < p.last {
			p.falls++
		}
		p.last, p.whole = n, n == len(mem[name])
		if right[name] != nil && p.whole && !bytes.Equal(mem[name], right[name]) {
			t.Errorf("%s: told of all bytes, which are not the sender's", name)
		}
		if n > 0 && !p.whole && n%nearBytes != 0 {
			t.Errorf("%s: told of %d of %d bytes", name, n, len(mem[name]))
		}
	}, seen
}

// larger are params and one that comes in several steps.
func larger(seed uint64) []*tensor.Param {
	ps := append(params(seed), &tensor.Param{Name: "large", Value: tensor.New(dtype.BF16, 300, 500)})
	noise(seed, ps)
	return ps
}

// However a version comes, its follower is told of all bytes of every tensor once, and never before they are the sender's.
func TestFollow(t *testing.T) {
	want := larger(1)
	for _, size := range []int{OneTensor, 1 << 10, 1 << 20, Everything} {
		for name, edit := range map[string]func([]rl.Chunk) []rl.Chunk{"in order": asIs, "reversed": reverse, "twice": twice} {
			into := larger(99)
			f, seen := watch(t, Flatten(into), Flatten(want))
			if _, err := TakeWith(t.Context(), relay{Of(5, Flatten(want), size), edit, 0}, Flatten(into), Held{}, f); err != nil {
				t.Fatal(err)
			}
			for tensor, p := range seen {
				if !p.whole || p.falls > 0 {
					t.Errorf("%s, %s: of %s it was told %+v", sizeName(size), name, tensor, p)
				}
			}
		}
	}
}

// What is damaged is never said to be whole; when it comes again its count begins again.
func TestFollowDamage(t *testing.T) {
	want, into := larger(1), larger(99)
	w := Of(5, Flatten(want), Everything)
	manifest, err := w.Manifest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, err := Begin(manifest, Flatten(into), Held{})
	if err != nil {
		t.Fatal(err)
	}
	f, seen := watch(t, Flatten(into), Flatten(want))
	s.Follow(f)
	good, err := chunksOf(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	bad, err := chunksOf(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	last := &bad[len(bad)-1]
	last.Data[len(last.Data)-1] ^= 1
	if err := s.Put(bad); err == nil {
		t.Error("damage was not seen")
	}
	if p := seen["large"]; p.whole || p.last == 0 {
		t.Errorf("of a damaged tensor it was told %+v", p)
	}
	if err := s.Put(good); err != nil {
		t.Fatal(err)
	}
	if err := s.End(); err != nil {
		t.Fatal(err)
	}
	if p := seen["large"]; !p.whole || p.falls != 1 {
		t.Errorf("of a tensor that came twice it was told %+v", p)
	}
}
