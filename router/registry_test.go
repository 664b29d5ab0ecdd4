package router

import (
	"errors"
	"fmt"
	"testing"
)

// healthyOnes returns a registry of n workers that have passed.
func healthyOnes(t *testing.T, n int) *registry {
	t.Helper()
	r := newRegistry(3, 2)
	for i := range n {
		s := newSpec()
		s.URL = fmt.Sprintf("http://w%d:1", i)
		w, err := r.add(s)
		if err != nil {
			t.Fatal(err)
		}
		r.passed(w)
	}
	return r
}

func TestHealth(t *testing.T) {
	r := newRegistry(3, 2)
	s := newSpec()
	s.URL = "http://a:1/"
	w, err := r.add(s)
	if err != nil {
		t.Fatal(err)
	}
	sick := errors.New("sick")
	for i, step := range []struct {
		pass, changes, healthy bool
	}{
		{false, false, false},
		{true, true, true}, // the first success of all is enough
		{false, false, true},
		{false, false, true},
		{true, false, true}, // two failures are not
		{false, false, true},
		{false, false, true},
		{false, true, false},
		{false, false, false},
		{true, false, false},
		{false, false, false},
		{true, false, false},
		{true, true, true},
		{true, false, true},
	} {
		changed := false
		if step.pass {
			changed = r.passed(w)
		} else {
			changed = r.failed(w, sick)
		}
		if changed != step.changes || w.healthy != step.healthy {
			t.Errorf("step %d: changed %v, healthy %v, want %v, %v", i, changed, w.healthy, step.changes, step.healthy)
		}
	}
	r.remove(w)
	if r.passed(w) || r.failed(w, sick) || w.healthy {
		t.Error("a removed worker still changes")
	}
}

func TestLeastOutstanding(t *testing.T) {
	r := healthyOnes(t, 3)
	var got []string
	take := func(size int64) *worker {
		w, err := r.take("", size, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, w.base.Host[:2])
		return w
	}
	a := take(1) // w0
	take(1)      // w1
	take(9)      // w2
	r.done(a, 1) // w0 has nothing to do
	take(9)      // w0
	take(1)      // of three with one request each, w1 has the shortest
	r.done(a, 9) // w0 has nothing to do again
	take(1)      // w0
	if s := fmt.Sprint(got); s != "[w0 w1 w2 w0 w1 w0]" {
		t.Errorf("requests went to %s", s)
	}
}

func TestTriedOnesComeLast(t *testing.T) {
	r := healthyOnes(t, 2)
	first, _ := r.take("", 1, nil, false)
	second, err := r.take("", 1, []*worker{first}, false)
	if err != nil || second == first {
		t.Fatalf("got %v, %v, want the other one", second, err)
	}
	if w, err := r.take("", 1, []*worker{first, second}, false); !errors.Is(err, errNone) {
		t.Errorf("got %v, %v, want none", w, err)
	}
	if w, err := r.take("", 1, []*worker{first, second}, true); err != nil || w == nil {
		t.Errorf("got %v, %v, want one once more", w, err)
	}
}

// A key stays where it is until its worker goes, and then only that worker's keys move.
func TestKeysStay(t *testing.T) {
	r := healthyOnes(t, 4)
	at := func() map[string]*worker {
		out := map[string]*worker{}
		for i := range 400 {
			key := fmt.Sprintf("session-%d", i)
			w, err := r.take(key, 1, nil, false)
			if err != nil {
				t.Fatal(err)
			}
			out[key] = w
		}
		return out
	}
	before := at()
	share := map[*worker]int{}
	for _, w := range before {
		share[w]++
	}
	for w, n := range share {
		if n < 60 || n > 140 { // 100 expected; a binomial has a deviation of 9
			t.Errorf("%s has %d of 400 keys", w.base, n)
		}
	}
	gone := r.workers[1]
	r.remove(gone)
	for key, w := range at() {
		if before[key] != gone && w != before[key] {
			t.Errorf("%s moved from %s to %s", key, before[key].base, w.base)
		}
	}
}

func TestSpecs(t *testing.T) {
	for _, tt := range []struct{ url, kind string }{
		{"ftp://a", "regular"},
		{"http://", "regular"},
		{"http://a:1?x=1", "regular"},
		{"http://u:p@a:1", "regular"},
		{"http://a:1/x@2", "regular"},
		{"nonsense", "regular"},
		{"http://a:1", "prefill"},
		{"http://a:1\x7f", "regular"},
	} {
		s := newSpec()
		s.URL, s.Type = tt.url, tt.kind
		if s.check() == nil {
			t.Errorf("%q of type %s is taken for a worker", tt.url, tt.kind)
		}
	}
	for id, want := range map[string]bool{newID(): true, "x": false, "00000000-0000-0000-0000-00000000000g": false, "00000000-0000-0000-0000000000000-000": false} {
		if isID(id) != want {
			t.Errorf("isID(%q) is %v", id, !want)
		}
	}
}
