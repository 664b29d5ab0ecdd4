package oracle

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kernels/ref"
	"furlong/model/dsv4"
)

// A mistake is one deviation from the model: a configuration that says something else, or a backend with one kernel wrong.
type mistake struct {
	name string
	cfg  func(*dsv4.Config)
	k    kernels.Backend

	at    int      // the shortest of 17 and 64 tokens that shows it
	error float64  // of the worst logit there, to two digits
	shows []string // checks that must be missed; logits and their norm if there are none
	hides []string // checks that must not be missed
}

// right is the backend that mistakes are planted in. They run in float64, so that what a check sees is the mistake and nothing
// else, and are held to the limits of float32, so that they'd be seen there too.
type right = ref.Backend[float64]

var exact = ref.New[float64]()

func TestPlantedMistakes(t *testing.T) {
	v := openVectors(t)
	main := freq(t, v, "rope.main.inv_freq")
	compress := freq(t, v, "rope.compress.inv_freq")
	table := []mistake{{name: "none", k: exact}}
	table = append(table, hyperMistakes()...)
	table = append(table, attentionMistakes()...)
	table = append(table, rotationMistakes(main, compress)...)
	table = append(table, compressorMistakes()...)
	table = append(table, indexerMistakes(main)...)
	table = append(table, expertMistakes()...)
	for _, m := range table {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			m.check(t, v)
		})
	}
}

// check runs the lengths up to the one that shows m; those before it must show nothing.
func (m mistake) check(t *testing.T, v *vectors) {
	for _, n := range []int{17, 64} {
		r := plant(t, v, m.cfg, m.k)
		rep := r.forwardCase(t, v, n)
		if n != m.at {
			if !rep.OK {
				t.Errorf("T%d: missed %v, want nothing missed", n, missed(rep))
			}
			continue
		}
		m.checkShown(t, rep)
		return
	}
}

func (m mistake) checkShown(t *testing.T, rep *Report) {
	t.Helper()
	got, want := missed(rep), m.shows
	if want == nil {
		want = []string{"logits", "logits, norm"}
	}
	for _, name := range want {
		if !slices.Contains(got, name) {
			t.Errorf("T%d: missed %q, want %q among them", m.at, got, name)
		}
	}
	for _, name := range m.hides {
		if slices.Contains(got, name) {
			t.Errorf("T%d: missed %q, want %q not among them", m.at, got, name)
		}
	}
	if e := rep.check("float32 logits", 0).Worst; !sameDigits(e, m.error) {
		t.Errorf("T%d: the worst logit is off by %.2g, want %.2g", m.at, e, m.error)
	}
}

// sameDigits tells whether two figures are equal to two digits.
func sameDigits(a, b float64) bool {
	return fmt.Sprintf("%.1e", a) == fmt.Sprintf("%.1e", b)
}

func openVectors(t *testing.T) *vectors {
	t.Helper()
	v, err := open("testdata/vectors")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.close)
	return v
}

func freq(t *testing.T, v *vectors, name string) []float32 {
	t.Helper()
	f, err := v.oracle.Tensor(name)
	if err != nil {
		t.Fatal(err)
	}
	return f.F32()
}

// plant returns a runner of the vectors' model with a mistake.
func plant(t *testing.T, v *vectors, change func(*dsv4.Config), k kernels.Backend) *runner {
	t.Helper()
	w := *v
	if change != nil {
		w.cfg.Layers = slices.Clone(w.cfg.Layers)
		change(&w.cfg)
	}
	if k == nil {
		k = exact
	}
	p := fastPrecision(k)
	p.format = dtype.F64
	r, err := newRunner(p, &w)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// forwardCase compares the forward pass of one length.
func (r *runner) forwardCase(t *testing.T, v *vectors, n int) *Report {
	t.Helper()
	rep, pre, seen := newReport(), fmt.Sprintf("T%d.", n), newTrace()
	ids, err := v.i32(pre + "input_ids")
	if err != nil {
		t.Fatal(err)
	}
	r.forward(r.ctx(), ids, seen)
	if err := r.outputs(v, rep, pre, 0, nil, seen); err != nil {
		t.Fatal(err)
	}
	if err := r.traced(v, rep, pre, seen); err != nil {
		t.Fatal(err)
	}
	return rep
}

// missed returns the names of missed checks, without the precision.
func missed(rep *Report) []string {
	var names []string
	for _, c := range rep.Checks {
		if !c.OK {
			names = append(names, strings.TrimPrefix(c.Name, "float32 "))
		}
	}
	return names
}
