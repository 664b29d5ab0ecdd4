package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"furlong/metrics"
	"furlong/rl"
)

// moody is an engine that refuses some updates, or says that it holds something else.
type moody struct {
	telling
	refuse map[int]bool // attempts, from 1
	lie    func(a *rl.Attestation)
	tries  int
}

var errDamaged = errors.New("w: digest is 1, want 2")

func (m *moody) Update(ctx context.Context, w rl.Weights) error {
	if m.tries++; m.refuse[m.tries] {
		return errDamaged
	}
	return m.Fake.Update(ctx, w)
}

func (m *moody) Attestation() rl.Attestation {
	a := m.Fake.Attestation()
	if m.lie != nil {
		m.lie(&a)
	}
	return a
}

// silent is an engine that attests nothing.
type silent struct{ rl.RolloutEngine }

// What an engine attests is compared with what was published, and recorded with every update.
func TestUpdatesAreAttested(t *testing.T) {
	d := &diary{}
	l, _ := newLoop("", "sync", 2, d)
	if err := l.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(d.updates) != 7 {
		t.Fatalf("%d updates were told, want 7: the first, and one a cycle", len(d.updates))
	}
	for i, u := range d.updates {
		if u.Cycle != i || u.Version != rl.NewVersion(2, i+1) || u.Err != nil || u.Tensors != 1 || u.Bytes != 8 {
			t.Errorf("update %d is %+v, want version %v after cycle %d of 1 tensor in 8 bytes", i, u, rl.NewVersion(2, i+1), i)
		}
		if u.State == (rl.Digest{}) || u.Attested.State != u.State || u.Attested.Version != u.Version {
			t.Errorf("update %d: attested is %+v, published %v", i, u.Attested, u.State)
		}
	}
	for _, r := range d.reports {
		s := r.Stats
		if s["update/version"] != float64(r.Cycle) || s["update/attested"] != 1 || s["update/tensors"] != 1 || s["update/bytes"] != 8 || s["update/refused"] != 0 {
			t.Errorf("cycle %d says of its update %v", r.Cycle, s)
		}
		for name := range s {
			if _, ok := metrics.Lookup(name); !ok {
				t.Errorf("%s is not in the table of series", name)
			}
		}
	}
}

// An engine that attests nothing may serve, and the figures say so.
func TestUpdatesWithoutAttestation(t *testing.T) {
	d := &diary{}
	l, _ := newLoop("", "sync", 0, d)
	l.Rollout = silent{l.Rollout}
	if err := l.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v, told := d.reports[0].Stats["update/attested"]; v != 0 || !told {
		t.Errorf("attested is %v, told %v, want 0", v, told)
	}
}

// An engine that holds something else than was published ends the run, however often updates may be refused.
func TestOtherWeightsEndTheRun(t *testing.T) {
	for name, tt := range map[string]struct {
		lie  func(a *rl.Attestation)
		want string
	}{
		"state":   {func(a *rl.Attestation) { a.State[3] ^= 1 }, "it attests state "},
		"version": {func(a *rl.Attestation) { a.Version++ }, "of version 2, published is state "},
		"nothing": {func(a *rl.Attestation) { *a = rl.Attestation{} }, "it attests state 00000000000000000000000000000000 of version 0, published is state "},
	} {
		t.Run(name, func(t *testing.T) {
			d := &diary{}
			l, _ := newLoop("", "sync", 0, d)
			l.Rollout, l.Config.MaxRefused = &moody{telling: l.Rollout.(telling), lie: tt.lie}, 5
			err := l.Run(t.Context())
			if err == nil || !strings.Contains(err.Error(), "cycle 0: push: the rollout engine holds other weights than the trainer published: ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want one with %q", err, tt.want)
			}
			if len(d.updates) != 1 || !errors.Is(d.updates[0].Err, errOther) {
				t.Errorf("told were %+v, want the one attempt", d.updates)
			}
		})
	}
}

// A refused update ends the run with its reason, or is tried again where that is allowed, and counted.
func TestRefusedUpdates(t *testing.T) {
	for _, tt := range []struct {
		allowed int
		refuse  []int
		want    string
	}{{1, []int{1}, "cycle 0: push: w: digest is 1, want 2"}, {2, []int{1}, ""}, {2, []int{1, 3, 5}, ""}, {2, []int{3, 4}, "cycle 2: push: w: digest is 1, want 2"}} {
		t.Run(fmt.Sprint(tt.allowed, tt.refuse), func(t *testing.T) {
			d := &diary{}
			l, _ := newLoop("", "sync", 0, d)
			m := &moody{telling: l.Rollout.(telling), refuse: map[int]bool{}}
			for _, i := range tt.refuse {
				m.refuse[i] = true
			}
			l.Rollout, l.Config.MaxRefused = m, tt.allowed
			if err := l.Run(t.Context()); fmt.Sprint(err) != tt.want && (err != nil || tt.want != "") {
				t.Fatalf("error is %v, want %q", err, tt.want)
			}
			refused := 0
			for _, u := range d.updates {
				refused += int(one(u.Err != nil))
			}
			if refused != len(tt.refuse) {
				t.Errorf("%d refused updates were told, want %d", refused, len(tt.refuse))
			}
			if tt.want == "" {
				checkRefused(t, d, len(tt.refuse))
			}
		})
	}
}

// checkRefused adds up what the rows say.
func checkRefused(t *testing.T, d *diary, want int) {
	t.Helper()
	refused, retries := 0.0, 0.0
	for _, r := range d.reports {
		refused, retries = refused+r.Stats["update/refused"], retries+r.Stats["update/retries"]
		if r.Stats["update/version"] != float64(r.Cycle) {
			t.Errorf("cycle %d: version is %v; a refused update must not use one up", r.Cycle, r.Stats["update/version"])
		}
	}
	if refused != float64(want) || retries != float64(want) {
		t.Errorf("rows count %v refused updates and %v retries, want %d of both", refused, retries, want)
	}
}

// The seconds of an update are those between the readings of the clock.
func TestUpdateTimes(t *testing.T) {
	d := &diary{}
	l, _ := newLoop("", "sync", 0, d)
	var readings atomic.Int64 // generation reads the clock beside the loop, though not during an update
	l.Clock = func() time.Time { return time.Unix(readings.Add(1), 0) }
	if err := l.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"quantise", "gather", "apply", "stop"} {
		if got := d.reports[2].Stats["perf/update_weights_"+name+"_time"]; got != 1 {
			t.Errorf("%s took %v s, want 1", name, got)
		}
	}
	if got := d.reports[2].Stats["perf/update_weights_time"]; got < 3 {
		t.Errorf("all took %v s, want at least 3", got)
	}
}
