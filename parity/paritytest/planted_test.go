package paritytest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"furlong/dtype"
	"furlong/kernels/cpu"
	"furlong/quant"
	"furlong/tensor"
)

// A recording is what one run showed.
type recording struct {
	order   []string
	values  map[string][]float32
	choices map[string][]int32
}

func (r *recording) watch(layer int, name string, x *tensor.Tensor, choice []int32) {
	if r.values == nil {
		r.values, r.choices = map[string][]float32{}, map[string][]int32{}
	}
	name = fmt.Sprintf("L%d.%s", layer, name)
	r.order = append(r.order, name)
	if x == nil {
		r.choices[name] = append([]int32(nil), choice...)
		return
	}
	if x.Type != dtype.F32 {
		panic(name)
	}
	r.values[name] = append([]float32(nil), x.F32()...)
}

// differs returns the first boundary at which two recordings differ, and by how much relative to its largest value.
func (r *recording) differs(o *recording) (string, float64) {
	for _, name := range r.order {
		a, b := r.values[name], o.values[name]
		var off, peak float64
		for i, v := range a {
			off, peak = max(off, math.Abs(float64(v-b[i]))), max(peak, math.Abs(float64(v)))
		}
		if off > 3e-7*peak {
			return name, off / peak
		}
		if fmt.Sprint(r.choices[name]) != fmt.Sprint(o.choices[name]) {
			return name, 1
		}
	}
	return "", 0
}

// Every mistake shows, when compared with a right pass, first where it says, whatever it is planted in: what goes into that operation is still the same.
func TestMistakesShowWhereTheySay(t *testing.T) {
	k := cpu.New(1)
	defer k.Close()
	for i, c := range Shapes() {
		e := New(c, 1, k, quant.Recipe{})
		for _, m := range All() {
			ids := IDs(c, max(32, m.Least), 1)
			var right recording
			lps := e.Run(None(), Everywhere, ids, right.watch)
			places := m.Places(c)
			if i > 0 && len(places) > 1 {
				places = places[1:] // one layer alone
			}
			for _, at := range places {
				t.Run(fmt.Sprintf("%d/%s/%d", i, m.Name, at), func(t *testing.T) {
					var wrong recording
					got := e.Run(m, at, ids, wrong.watch)
					layer, ops := m.First(c, at)
					name, off := right.differs(&wrong)
					if name == "" && gap(lps, got) > 1e-6 {
						name = "L-1." + Head
					}
					faint := m.Fault == Faint && (name == "" || at == Everywhere)
					if !isOneOf(name, layer, ops) && !faint {
						t.Errorf("%q is off by %.2g first, want %v of layer %d; logprobs are off by %.2g", name, off, ops, layer, gap(lps, got))
					}
				})
			}
		}
	}
}

// isOneOf reports whether a name is that of one of some boundaries in a layer.
func isOneOf(name string, layer int, ops []string) bool {
	return slices.ContainsFunc(ops, func(op string) bool { return name == fmt.Sprintf("L%d.%s", layer, op) })
}

// gap returns the largest difference of two lists of logprobs.
func gap(a, b []float32) (most float64) {
	for i, v := range a {
		most = max(most, math.Abs(float64(v-b[i])))
	}
	return most
}
