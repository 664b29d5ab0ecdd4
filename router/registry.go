package router

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
)

// errNone is the answer when nobody can take a request.
var errNone = errors.New("no healthy worker")

// A registry is the list of workers and what each is doing. It decides who gets a request, and does nothing itself.
type registry struct {
	failAfter, passAfter int

	mu      sync.Mutex
	workers []*worker // in the order in which they came
	fresh   []*worker // nobody looks at them yet
	came    chan struct{}
}

func newRegistry(failAfter, passAfter int) *registry {
	return &registry{failAfter: failAfter, passAfter: passAfter, came: make(chan struct{}, 1)}
}

// add enters a worker. One with the same address is an error.
func (r *registry) add(s Spec) (*worker, error) {
	w, err := newWorker(s)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byURL(w.spec.URL) != nil {
		return nil, fmt.Errorf("worker %s is registered already", w.spec.URL)
	}
	r.workers, r.fresh = append(r.workers, w), append(r.fresh, w)
	select {
	case r.came <- struct{}{}:
	default:
	}
	return w, nil
}

// newcomers returns the workers that nobody looks at yet, once.
func (r *registry) newcomers() []*worker {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.fresh
	r.fresh = nil
	return out
}

func (r *registry) byURL(u string) *worker {
	i := slices.IndexFunc(r.workers, func(w *worker) bool { return w.spec.URL == u })
	if i < 0 {
		return nil
	}
	return r.workers[i]
}

// find returns the worker with an id or an address, nil for none.
func (r *registry) find(name string) *worker {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.workers {
		if w.id == name {
			return w
		}
	}
	u, err := parseURL(name)
	if err != nil {
		return nil
	}
	return r.byURL(u.String())
}

// remove takes a worker off the list. What it has in hand it may finish.
func (r *registry) remove(w *worker) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !w.gone() {
		close(w.left)
	}
	w.healthy = false
	r.workers = slices.DeleteFunc(r.workers, func(o *worker) bool { return o == w })
}

// change gives a worker another spec.
func (r *registry) change(w *worker, s Spec) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w.spec = s
}

// spec returns what a worker was registered with.
func (r *registry) spec(w *worker) Spec {
	r.mu.Lock()
	defer r.mu.Unlock()
	return w.spec
}

// why returns how the last look at a worker failed.
func (r *registry) why(w *worker) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return w.last
}

// all returns the workers; healthy ones alone if asked.
func (r *registry) all(healthy bool) (out []*worker) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.workers {
		if w.healthy || !healthy {
			out = append(out, w)
		}
	}
	return out
}

// take chooses a worker for a request of so many bytes and books it. Those in tried come last, but may be chosen if again is true. With a key the choice depends on
// the key and the healthy workers alone.
func (r *registry) take(key string, size int64, tried []*worker, again bool) (*worker, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var able []*worker
	for _, w := range r.workers {
		if w.healthy {
			able = append(able, w)
		}
	}
	fresh := slices.DeleteFunc(slices.Clone(able), func(w *worker) bool { return slices.Contains(tried, w) })
	if len(fresh) == 0 && again {
		fresh = able
	}
	if len(fresh) == 0 {
		return nil, r.nobody()
	}
	w := choose(key, fresh)
	w.requests++
	w.bytes += size
	w.served++
	return w, nil
}

// choose returns the worker with the least to do, or the one where a key lives.
func choose(key string, from []*worker) *worker {
	if key == "" {
		return slices.MinFunc(from, func(a, b *worker) int {
			return cmp.Or(cmp.Compare(a.requests, b.requests), cmp.Compare(a.bytes, b.bytes), cmp.Compare(a.served, b.served))
		})
	}
	return slices.MaxFunc(from, func(a, b *worker) int {
		return cmp.Or(cmp.Compare(home(key, a), home(key, b)), cmp.Compare(a.spec.URL, b.spec.URL))
	})
}

// home ranks a worker for a key. Each key ranks workers in its own order, so when one goes only its keys move.
func home(key string, w *worker) uint64 {
	h := fnv.New64a()
	h.Write([]byte(w.spec.URL))
	h.Write([]byte{0})
	h.Write([]byte(key))
	x := h.Sum64() // short keys differ in the low bits only: mix
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// nobody says why there is no worker.
func (r *registry) nobody() error {
	if len(r.workers) == 0 {
		return fmt.Errorf("%w: none is registered", errNone)
	}
	for _, w := range r.workers {
		if w.last != nil {
			return fmt.Errorf("%w of %d; %s: %w", errNone, len(r.workers), w.spec.URL, w.last)
		}
	}
	return fmt.Errorf("%w of %d", errNone, len(r.workers))
}

// done gives back what take booked.
func (r *registry) done(w *worker, size int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w.requests--
	w.bytes -= size
}

// passed notes that a worker is well. It reports whether the worker gets requests again.
func (r *registry) passed(w *worker) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !w.gone() && w.passed(cmp.Or(w.spec.PassAfter, r.passAfter))
}

// failed notes that a worker is not. It reports whether the worker gets no more requests.
func (r *registry) failed(w *worker, why error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !w.gone() && w.failed(cmp.Or(w.spec.FailAfter, r.failAfter), why)
}

// isHealthy reports whether a worker gets requests.
func (r *registry) isHealthy(w *worker) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return w.healthy
}

// describe notes what a worker told of itself.
func (r *registry) describe(w *worker, f facts) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w.meta = f
}
