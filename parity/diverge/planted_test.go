package diverge_test

import (
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kernels/cpu"
	"furlong/kernels/ref"
	"furlong/ops"
	"furlong/parity/diverge"
	"furlong/parity/taps"
	"furlong/parity/taps/tapstest"
	"furlong/tensor"
)

// A spot is a boundary of a layer.
type spot struct {
	layer int
	name  string
}

// spoilAt returns a watch that multiplies what one boundary computes, from row first on, by factor, or gives a choice one other item.
func spoilAt(at spot, first int, factor float32) ops.Watch {
	return func(layer int, name string, x *tensor.Tensor, choice []int32) {
		switch {
		case layer != at.layer || name != at.name:
		case choice != nil:
			swap(name, choice)
		default:
			w := x.Len() / max(1, x.Shape[0])
			for i := first * w; i < x.Len(); i++ {
				x.F32()[i] *= factor
			}
		}
	}
}

// swap gives the last token another choice that is possible.
func swap(name string, choice []int32) {
	last := choice[len(choice)-2:]
	if name == "router_indices" {
		last[1] = other(last)
		return
	}
	k := 3 // of Small: ascending entries
	row := choice[len(choice)-k:]
	for w := int32(0); ; w++ {
		if w != row[0] && w != row[1] && w != row[2] {
			row[0], row[1], row[2] = sort3(w, row[1], row[2])
			return
		}
	}
}

func other(taken []int32) int32 {
	for e := int32(0); ; e++ {
		if e != taken[0] && e != taken[1] {
			return e
		}
	}
}

func sort3(a, b, c int32) (x, y, z int32) {
	return min(a, b, c), a + b + c - min(a, b, c) - max(a, b, c), max(a, b, c)
}

// spots returns every boundary of the small model.
func spots(s *taps.Set) []spot {
	var all []spot
	for _, t := range s.Taps() {
		all = append(all, spot{t.Layer, t.Name})
	}
	return all
}

func first(t *testing.T, c diverge.Case, j taps.Judge, s *taps.Set, mine *taps.Set) *diverge.Finding {
	t.Helper()
	local, err := taps.Force(j, s)
	if err != nil {
		t.Fatal(err)
	}
	var plain []taps.Diff
	if mine != nil {
		if plain, err = taps.Plain(mine, s); err != nil {
			t.Fatal(err)
		}
	}
	f, err := diverge.First(c, local, plain)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func overs(f *diverge.Finding) (n int) {
	for _, r := range f.Rows {
		if r.Over {
			n++
		}
	}
	return n
}

// What another program can't record falls to the next op that it did, and the finding says so.
func TestMistakesBetweenTaps(t *testing.T) {
	j := smallJudge()
	ids := tapstest.Tokens(3, tapstest.Small(), 26)
	for _, tt := range []struct{ planted, named, spans string }{
		{"attn_hc.pre", "", ""}, // nothing else reads what is shown of it
		{"expert_gate_up", "mlp_out", "L1.expert_gate_up, L1.expert_mid, L1.expert_out"},
		{"expert_out", "mlp_out", "L1.expert_gate_up, L1.expert_mid, L1.expert_out"},
		{"attn_mix", "attn_mix", ""},
		{"shared_mid", "shared_mid", ""},
	} {
		all := tapstest.Record(j, ids, spoilAt(spot{1, tt.planted}, 0, 1.01))
		s := tapstest.Only(all, func(_ int, name string) bool {
			return !strings.HasPrefix(name, "expert_") && !strings.HasSuffix(name, "hc.pre")
		})
		f := first(t, diverge.Case{}, j, s, nil)
		says := strings.Join(f.More, " ")
		if f.Found != (tt.named != "") || f.Found && (f.Layer != 1 || f.Op != tt.named) {
			t.Errorf("%s: named %s: %s", tt.planted, f.Title(), f.Says)
		}
		if want := "does not tell L1." + tt.named + " apart from " + tt.spans + ":"; tt.spans != "" && !strings.Contains(says, want) {
			t.Errorf("%s: %s, want %q", tt.planted, says, want)
		}
	}
}

// A mistake in exactly one op of one layer is named exactly, whatever op and layer it is, by both backends.
func TestEveryBoundaryIsNamed(t *testing.T) {
	fast := cpu.New(2)
	t.Cleanup(fast.Close)
	for i, k := range []kernels.Backend{ref.New[float32](), fast} {
		j := tapstest.Judge(k, tapstest.Model(tapstest.Small(), dtype.F32, 3))
		ids := tapstest.Tokens(3, tapstest.Small(), 18)
		mine := tapstest.Record(j, ids, nil)
		all := spots(mine)
		if len(all) < 150 {
			t.Fatalf("%d boundaries, want all of four layers", len(all))
		}
		for _, at := range all {
			if i > 0 && at.layer != 1 {
				continue // the other backend's bits are the same: one layer will do
			}
			theirs := tapstest.Record(j, ids, spoilAt(at, 0, 1.001))
			f := first(t, diverge.Case{Layers: j.Model.Layers()}, j, theirs, nil)
			if !f.Found || f.Layer != at.layer || f.Op != at.name {
				t.Errorf("%s: mistake at %s: found %v, %s: %s", k.Name(), taps.Title(at.layer, at.name), f.Found, f.Title(), f.Says)
			}
			if n := overs(f); n != 1 {
				t.Errorf("%s: mistake at %s: %d ops are off for themselves, want that one alone", k.Name(), taps.Title(at.layer, at.name), n)
			}
		}
	}
}
