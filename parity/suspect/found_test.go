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

// impossible are mistakes that no judge can follow where an indexer chooses: the reason is told with the finding.
var impossible = []string{"windows visible one token early", "windows visible from their first token"}

// A bench is a right engine, which judges, and the one that mistakes are planted in.
type bench struct {
	right, wrong *paritytest.Engine
	c            diverge.Case
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
	ids := paritytest.IDs(cfg, max(40, m.Least), 1)
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
	j := taps.Judge{Model: b.right.Model, Backend: b.right.K, Mem: mem}
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
	golden(t, filepath.Join("testdata", "found.txt"), strings.Join(lines, ""))
}

// found plants a mistake in both shapes, everywhere and in one layer, and returns a line of the table for each.
func found(t *testing.T, benches []bench, m paritytest.Mistake) string {
	var out strings.Builder
	for shape, b := range benches {
		cfg := b.right.Model.Config()
		places := m.Places(cfg)
		if shape > 0 && len(places) > 1 {
			places = places[1:] // one layer alone
		}
		for _, at := range places {
			v := b.judge(t, m, at)
			check(t, m, cfg, at, v)
			fmt.Fprintf(&out, "%-58s %-5s model %d, %-16s %-24s %s\n", m.Name, m.Trap, shape+1, where(cfg, at), v.place(), v.why())
		}
	}
	return out.String()
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
	if v.f.Op == "index_topk" && slices.Contains(impossible, m.Name) {
		want = "" // the choice itself says it
	}
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

func golden(t *testing.T, path, got string) {
	t.Helper()
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
