package suspect_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"furlong/kernels"
	"furlong/kernels/cpu"
	"furlong/model/dsv4"
	"furlong/parity/diverge"
	"furlong/parity/paritytest"
	"furlong/parity/suspect"
	"furlong/parity/taps"
	"furlong/quant"
	"furlong/tensor"
)

var update = flag.Bool("update", false, "rewrite testdata/found.txt")

// A bench is a right engine, which judges, and the one that mistakes are planted in.
type bench struct {
	right, wrong *paritytest.Engine
	c            diverge.Case
	fp8          bool // the judge's cache is
}

// equals is a bench for each shape. In the first, both engines have the same bits where nothing is wrong; in the second, products are summed otherwise,
// so that rounding differs everywhere.
func equals(k kernels.Backend) []bench {
	shapes := paritytest.Shapes()
	a, b := paritytest.New(shapes[0], 1, k, quant.Recipe{}), paritytest.New(shapes[1], 1, k, quant.Recipe{})
	return []bench{{right: a, wrong: a}, {right: b, wrong: &paritytest.Engine{Model: b.Model, K: paritytest.Other(k)}}}
}

// A verdict is what the report would say.
type verdict struct {
	layer int
	op    string
	kind  diverge.Kind
	names []string // of mistakes that explain it
	left  []diverge.Explained
	f     *diverge.Finding
}

var arenas = sync.Pool{New: func() any { return &tensor.Arena{} }}

// judge records a pass with a mistake and holds the right engine against it.
func (b bench) judge(t *testing.T, m paritytest.Mistake, at int) verdict {
	t.Helper()
	cfg := b.right.Model.Config()
	ids := paritytest.IDs(cfg, max(32, m.Least), 1)
	set, rec := taps.NewSet(ids), taps.NewRecorder(b.wrong.Model)
	rec.Begin(paritytest.Sequence(ids), set)
	lps := b.wrong.Run(m, at, ids, rec.Watch)
	if err := rec.Err(); err != nil {
		t.Fatal(err)
	}
	if err := set.AddLogProbs(1, lps); err != nil {
		t.Fatal(err)
	}
	mem := arenas.Get().(*tensor.Arena)
	defer arenas.Put(mem)
	j := taps.Judge{Model: b.right.Model, Backend: b.right.K, FP8: b.fp8, Mem: mem}
	local, err := taps.Force(j, set)
	if err != nil {
		t.Fatal(err)
	}
	f, err := diverge.First(b.c, local, nil)
	if err != nil {
		t.Fatal(err)
	}
	v := verdict{layer: f.Layer, op: f.Op, kind: f.Kind, f: f}
	if v.left, err = diverge.Explain(b.c, j, set, f, suspect.All()); err != nil {
		t.Fatal(err)
	}
	for _, e := range v.left {
		if e.Match {
			v.names = append(v.names, e.Name)
		}
		if e.Failed != "" {
			t.Logf("%s: %s", e.Name, e.Failed)
		}
	}
	return v
}

// Every planted mistake is found in its layer and operation, and explained where the library knows it. What it does not know is not explained.
func TestPlantedMistakesAreFound(t *testing.T) {
	k := cpu.New(1)
	t.Cleanup(k.Close)
	all, benches := paritytest.All(), equals(k)
	lines := make([]string, len(all))
	t.Run("each", func(t *testing.T) {
		for i, m := range all {
			t.Run(m.Name, func(t *testing.T) {
				t.Parallel()
				lines[i] = found(t, benches, m)
			})
		}
	})
	golden(t, filepath.Join("testdata", "found.txt"), head("model 1, everywhere", "in one layer", "model 2, one layer"), lines)
}

func head(columns ...string) string {
	return row(paritytest.Mistake{Name: "planted", Trap: "trap"}, "explained by", columns...)
}

// found plants a mistake in both shapes, everywhere and in one layer, and returns its row of the table.
func found(t *testing.T, benches []bench, m paritytest.Mistake) string {
	var places, whys []string
	for shape, b := range benches {
		cfg := b.right.Model.Config()
		at := m.Places(cfg)
		if shape > 0 && len(at) > 1 {
			at = at[1:] // one layer alone
		}
		for _, at := range at {
			v := b.judge(t, m, at)
			check(t, m, cfg, at, v)
			places = append(places, v.place())
			if !slices.Contains(whys, v.why()) {
				whys = append(whys, v.why())
			}
		}
		for range 2 - shape - len(at) {
			places = append(places, ".") // it applies in one place only, or in none
		}
	}
	return row(m, strings.Join(whys, " / "), places...)
}

// row is a row of a table: the mistake, the trap it is, what it is explained by, and where it is found.
func row(m paritytest.Mistake, why string, places ...string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%-58s %-6s %-54s", m.Name, m.Trap, why)
	for _, p := range places {
		fmt.Fprintf(&out, " %-19s", p)
	}
	return strings.TrimRight(out.String(), " ") + "\n"
}

// check holds a verdict against what was planted.
func check(t *testing.T, m paritytest.Mistake, cfg dsv4.Config, at int, v verdict) {
	t.Helper()
	layer, ops := m.First(cfg, at)
	faint := m.Fault == paritytest.Faint
	switch {
	case !v.f.Found && faint:
		return
	case !v.f.Found, v.layer != layer && !(faint && at == paritytest.Everywhere), !slices.Contains(ops, v.op):
		t.Errorf("%s, planted in %s: %s (%s), want %v of layer %d", m.Name, where(cfg, at), v.place(), v.f.Says, ops, layer)
		return
	}
	want := explained[m.Name]
	if m.Trap == "late" && v.f.At < 512 {
		t.Errorf("%s, planted in %s: shows from position %d on, want none before 512", m.Name, where(cfg, at), v.f.At)
	}
	if got := strings.Join(v.names, "; "); got != want {
		t.Errorf("%s, planted in %s: %s is explained by %q, want %q: %+v", m.Name, where(cfg, at), v.place(), got, want, v.left)
	}
}

func where(cfg dsv4.Config, at int) string {
	switch at {
	case paritytest.Everywhere:
		return "everywhere"
	case len(cfg.Layers):
		return "behind the blocks"
	}
	return fmt.Sprintf("layer %d alone", at)
}

func (v verdict) place() string {
	if !v.f.Found {
		return "- (" + string(v.kind) + ")"
	}
	return taps.Title(v.layer, v.op)
}

func (v verdict) why() string {
	if len(v.names) == 0 {
		return "-"
	}
	return strings.Join(v.names, "; ")
}

// golden holds a table against the one that is kept. Where only some of the tests ran, there is no table.
func golden(t *testing.T, path, head string, lines []string) {
	t.Helper()
	if slices.Contains(lines, "") {
		return
	}
	got := head + strings.Join(lines, "")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not what is found now; look at the difference and rewrite it with -update", path)
	}
}

// Where nothing is planted nothing is found, whatever the order of sums.
func TestRightEnginesAreNotSuspected(t *testing.T) {
	k := cpu.New(1)
	defer k.Close()
	for i, b := range equals(k) {
		if v := b.judge(t, paritytest.None(), paritytest.Everywhere); v.f.Found || v.left != nil {
			t.Errorf("model %d: %s, %v: %s", i+1, v.place(), v.names, v.f.Says)
		}
	}
}
