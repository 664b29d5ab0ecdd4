package rl

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// routesOf returns routes of so many tokens, at random, and the experts that they hold.
func routesOf(layers, choices, experts, tokens int) (*Routes, []int32) {
	r, rnd := NewRoutes(layers, choices, experts), rand.New(rand.NewPCG(1, uint64(experts)))
	all := make([]int32, tokens*layers*choices)
	for i := range all {
		all[i] = int32(rnd.IntN(experts))
	}
	r.Add(all)
	return r, all
}

func TestRoutesKeepExperts(t *testing.T) {
	for _, experts := range []int{1, 8, 256, 257, 300, 65536} {
		r, want := routesOf(3, 2, experts, 7)
		if got := r.From(0); !slices.Equal(got, want) || r.Len() != 7 {
			t.Errorf("%d experts: %d tokens with %v, want 7 with %v", experts, r.Len(), got, want)
		}
		if got := r.At(nil, 4, 1); !slices.Equal(got, want[(4*3+1)*2:][:2]) {
			t.Errorf("%d experts: token 4 goes to %v in layer 1, want %v", experts, got, want[(4*3+1)*2:][:2])
		}
		if got := r.Head(3); got.Len() != 3 || !slices.Equal(got.From(1), want[6:18]) {
			t.Errorf("%d experts: from token 1 on the first 3 tokens go to %v, want %v", experts, got.From(1), want[6:18])
		}
		raw, err := json.Marshal(r)
		var back *Routes
		if err == nil {
			err = json.Unmarshal(raw, &back)
		}
		if err != nil || !reflect.DeepEqual(back, r) {
			t.Errorf("%d experts: %v is %v after a trip through JSON, %v", experts, r, back, err)
		}
		r.Set(4, 1, []int32{0, int32(experts - 1)})
		if got := r.At(nil, 4, 1); !slices.Equal(got, []int32{0, int32(experts - 1)}) || r.Check(3, 2, experts) != nil {
			t.Errorf("%d experts: after a change token 4 goes to %v (%v)", experts, got, r.Check(3, 2, experts))
		}
	}
	var none *Routes
	if none.Len() != 0 || none.From(0) != nil || none.Head(0) != nil {
		t.Error("no routes at all have tokens")
	}
}

// An expert takes a quarter of an int32, or half of one where its number needs it.
func TestRoutesAreSmall(t *testing.T) {
	for experts, want := range map[int]int{256: 1, 257: 2} {
		r, all := routesOf(43, 6, experts, 1000)
		if got := len(r.Rows); got != want*len(all) {
			t.Errorf("%d experts: %d bytes for %d choices, want %d", experts, got, len(all), want*len(all))
		}
	}
}

func TestRoutesOfAnotherModel(t *testing.T) {
	for want, spoil := range map[string]func(r *Routes){
		"routes are 2 of 8 experts in 4 layers, want 2 of 8 in 3":   func(r *Routes) { r.Layers = 4 },
		"routes are 2 of 300 experts in 3 layers, want 2 of 8 in 3": func(r *Routes) { r.Experts = 300 },
		"routes have 41 bytes, want a multiple of the 6 of a token": func(r *Routes) { r.Rows = r.Rows[:41] },
		"token 6 goes to expert 8 in layer 2, want less than 8":     func(r *Routes) { r.Rows[41] = 8 },
	} {
		r, _ := routesOf(3, 2, 8, 7)
		if spoil(r); r.Check(3, 2, 8) == nil || r.Check(3, 2, 8).Error() != want {
			t.Errorf("%v, want %s", r.Check(3, 2, 8), want)
		}
	}
}
