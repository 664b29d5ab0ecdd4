package oracle

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fill  func(*Report)
		ok    bool
		lines []string // of the checks, in part
	}{
		{"nothing", func(*Report) {}, true, nil},
		{
			"the worst is kept", func(r *Report) { r.see("logits", 1, 5, "a"); r.see("logits", 3, 5, "b"); r.see("logits", 2, 5, "c") }, true,
			[]string{"ok     logits                             worst 3          limit 5        of 3      b"},
		},
		{"at the limit", func(r *Report) { r.see("logits", 5, 5, "a") }, true, []string{"ok "}},
		{
			"one above the limit", func(r *Report) { r.see("logits", 5.1, 5, "a"); r.see("logits", 0, 5, "b"); r.see("loss", 0, 5, "") }, false,
			[]string{"MISSED logits", "ok     loss"},
		},
		{"not a number", func(r *Report) { r.see("logits", math.NaN(), 5, "a") }, false, []string{"MISSED logits                             worst 1.8e+308"}},
		{
			"a figure that is told", func(r *Report) { r.note("unread", 3, "a b c") }, true,
			[]string{"ok     unread                             worst 3          limit 3        of 1      a b c"},
		},
		{"a differing choice", func(r *Report) { r.mustEqual("choices", 0, "a"); r.mustEqual("choices", 1, "b") }, false, []string{"MISSED choices"}},
		{
			"a check never made", func(r *Report) { r.see("logits", 0, 5, "a"); r.require("logits", "loss") }, false,
			[]string{"ok     logits", "MISSED loss                               worst 0          limit 0        of 0      no vectors found"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newReport()
			tt.fill(r)
			if r.OK != tt.ok || len(r.Checks) != len(tt.lines) {
				t.Fatalf("OK is %v with checks %v, want %v with %d", r.OK, r.Checks, tt.ok, len(tt.lines))
			}
			for i, want := range tt.lines {
				if got := r.Checks[i].String(); !strings.HasPrefix(got, want) {
					t.Errorf("check %d = %q, want it to begin %q", i, got, want)
				}
			}
			if _, err := json.Marshal(r); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestDistances(t *testing.T) {
	inf := math.Inf(1)
	for _, tt := range []struct {
		name                   string
		got, want              []float64
		max, relative, ofPeak_ float64
	}{
		{"equal", []float64{1, -2}, []float64{1, -2}, 0, 0, 0},
		{"off", []float64{3, -4.5}, []float64{3, -4}, 0.5, 0.1, 0.125},
		{"the truth is zero", []float64{0, 2}, []float64{0, 0}, 2, 2, 2},
		{"too short", []float64{1}, []float64{1, 2}, inf, inf, inf},
		{"too long", []float64{1, 2}, []float64{1}, inf, inf, inf},
		{"nothing", nil, nil, 0, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := maxAbs(tt.got, tt.want); got != tt.max {
				t.Errorf("maxAbs = %v, want %v", got, tt.max)
			}
			if got := relative(tt.got, tt.want); got != tt.relative {
				t.Errorf("relative = %v, want %v", got, tt.relative)
			}
			if got := ofPeak(tt.got, tt.want); got != tt.ofPeak_ {
				t.Errorf("ofPeak = %v, want %v", got, tt.ofPeak_)
			}
		})
	}
	if got := maxAbs([]float64{math.NaN()}, []float64{0}); !math.IsNaN(got) {
		t.Errorf("maxAbs of a NaN = %v, want NaN, which a report counts as missed", got)
	}
}

func TestDigest(t *testing.T) {
	got := digest([]float64{3, -4})
	if want := [4]float64{5, -1, 3*math.Sin(1) - 4*math.Sin(2), 4}; got != want {
		t.Errorf("digest = %v, want %v", got, want)
	}
	for _, tt := range []struct {
		name string
		want []float64
		err  float64
	}{
		{"equal", got[:], 0},
		{"of its norm", []float64{5, -1, got[2], 4.5}, 0.1},
		{"of nothing", []float64{0, 0, 0, 0}, 5},
	} {
		if e := digestError(got, tt.want); e != tt.err {
			t.Errorf("%s: digestError = %v, want %v", tt.name, e, tt.err)
		}
	}
}

func TestDiffering(t *testing.T) {
	for _, tt := range []struct {
		name        string
		got, want   []int32
		kGot, kWant int
		wrong       int
	}{
		{"equal", []int32{1, 2, 3, 4}, []int32{1, 2, 3, 4}, 2, 2, 0},
		{"another order", []int32{2, 1, 3, 4}, []int32{1, 2, 4, 3}, 2, 2, 0},
		{"no choice is left out", []int32{0, -1, -1, 1, 0, -1}, []int32{0, -1, 1, 0}, 3, 2, 0},
		{"one row off", []int32{1, 2, 3, 5}, []int32{1, 2, 3, 4}, 2, 2, 1},
		{"one expert twice", []int32{1, 1}, []int32{1, 2}, 2, 2, 1},
		{"fewer chosen", []int32{1, -1}, []int32{1, 2}, 2, 2, 1},
		{"rows missing", []int32{1, 2}, []int32{1, 2, 3, 4}, 2, 2, 1},
		{"rows too many", []int32{1, 2, 3, 4}, []int32{1, 2}, 2, 2, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := differing(tt.got, tt.want, tt.kGot, tt.kWant); got != tt.wrong {
				t.Errorf("differing = %d, want %d", got, tt.wrong)
			}
		})
	}
}
