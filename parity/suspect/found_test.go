package suspect_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"furlong/kernels"
	"furlong/kernels/cpu"
	"furlong/model/dsv4"
	"furlong/parity/diverge"
	"furlong/parity/paritytest"
	"furlong/parity/suspect"
	"furlong/parity/taps"
	"furlong/quant"
)

var update = flag.Bool("update", false, "rewrite testdata/found.txt")

// explained says which of the library's mistakes each planted one is. One that is not here is not known, and nothing may explain it.
var explained = map[string]string{
	"mixer transposed":                               "stream mixer transposed",
	"one Sinkhorn round":                             "one Sinkhorn round",
	"19 Sinkhorn rounds":                             "one Sinkhorn round fewer",
	"a row step last":                                "row step last",
	"post without its factor 2":                      "post without its factor",
	"no hc_eps":                                      "no hc_eps",
	"streams normed one by one":                      "streams normed one by one",
	"output added to the old streams":                "plain residual",
	"hc scale taken for a weight scale":              "hc scale not loaded",
	"hyper-connections in bfloat16":                  "mixer in BF16",
	"final collapse by equal parts":                  "last collapse averages",
	"no sink":                                        "no attention sink",
	"sink scaled like a key":                         "sink scaled like a key",
	"window one longer":                              "window one longer",
	"window one shorter":                             "window one shorter",
	"no norm on each query head":                     "query heads not normed",
	"no norm on the query latent":                    "query latent not normed",
	"keys without norm":                              "keys not normed",
	"heads grouped by turns":                         "heads grouped by turns",
	"output projection dense":                        "output projection dense",
	"norms with eps 1e-5":                            "norms with eps 1e-5",
	"half-split rotation":                            "half-split rotation",
	"leading channels turned":                        "leading channels turned",
	"output not turned back":                         "output not turned back",
	"output turned back at the key's position":       "output turned back at the key's position",
	"main frequencies in compressed layers":          "main frequencies in compressed layers",
	"compressed layers' frequencies in sliding ones": "compressed layers' frequencies in sliding layers",
	"no YaRN":                       "no YaRN",
	"YaRN in sliding layers":        "YaRN in sliding layers",
	"YaRN scales cosines and sines": "YaRN scales cosines and sines",
	"main frequencies for sliding keys of compressed layers": "sliding keys of compressed layers by main frequencies",
	"main frequencies for compressed entries":                "entries by main frequencies",
	"cosines and sines in bfloat16":                          "cosines and sines in BF16",
	"entries turned at the window's last position":           "entries turned at the window's last position",
	"no overlap":     "no overlap",
	"halves swapped": "halves of the compressor swapped",
	"halves of the projections swapped in the file": "halves of the compressor's weights swapped",
	"no position bias":                        "no position bias",
	"no position bias in the indexer":         "no position bias in the indexer",
	"position bias in slot order":             "position bias in slot order",
	"position bias in bfloat16":               "position bias in BF16",
	"entries without norm":                    "entries not normed",
	"windows visible one token early":         "windows seen one token early",
	"windows visible one token late":          "windows seen one token late",
	"windows visible from their first token":  "windows seen from their first token",
	"indexer ignored":                         "indexer ignored",
	"indexer without ReLU":                    "indexer without ReLU",
	"indexer's head weights ignored":          "indexer's head weights ignored",
	"indexer not turned":                      "indexer not turned",
	"indexer turned by main frequencies":      "indexer by main frequencies",
	"indexer's keys in bfloat16":              "indexer's keys in BF16",
	"no correction bias in the choice":        "no correction bias in the choice",
	"correction bias left in the weight":      "correction bias left in the weight",
	"weights not normalised":                  "expert weights not normalised",
	"no routed factor":                        "no routed factor",
	"router weights in bfloat16":              "expert weights in BF16",
	"gate computed in bfloat16":               "router's product in BF16",
	"table layers routed by score":            "table layers routed by score",
	"one layer too few routed by table":       "table layers routed by score",
	"table of zeros":                          "table of zeros",
	"table through bfloat16":                  "table through BF16",
	"correction bias in bfloat16":             "correction bias in BF16",
	"no SwiGLU clamp":                         "no SwiGLU clamp",
	"shared expert not clamped":               "no SwiGLU clamp in the shared expert",
	"routed experts not clamped":              "no SwiGLU clamp",
	"gate clamped below too":                  "gate clamped below too",
	"up never clamped":                        "up never clamped",
	"up clamped above only":                   "up clamped above only",
	"gate never clamped":                      "gate never clamped",
	"clamped after the product":               "clamped after the product",
	"weights after the experts, in bfloat16":  "experts weighed after the last product",
	"duplicate experts overwritten":           "duplicate experts overwritten",
	"routed factor on the shared expert too":  "routed factor on the shared expert",
	"shared expert left out":                  "no shared expert",
	"logits in bfloat16":                      "logits in BF16",
	"vocabulary padding inside the logsumexp": "vocabulary padded to a multiple of 64",
	"temperature 0.8":                         "logprobs at temperature 0.8",
	"attention sinks in bfloat16":             "sinks in BF16",
	"FP8 cache":                               "FP8 cache",
}

// impossible are mistakes that no judge can follow where an indexer chooses: the reason is told with the finding.
var impossible = []string{"windows visible one token early", "windows visible from their first token"}

// A bench is a right engine, which judges, and the one that mistakes are planted in.
type bench struct {
	right, wrong *paritytest.Engine
	c            diverge.Case
}

// equals is benches of one engine each, which judges itself: one for each shape.
func equals(k kernels.Backend) (all []bench) {
	for _, cfg := range paritytest.Shapes() {
		e := paritytest.New(cfg, 1, k, quant.Recipe{})
		all = append(all, bench{right: e, wrong: e})
	}
	return all
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

// judge records a pass with a mistake and holds the right engine against it.
func (b bench) judge(t *testing.T, m paritytest.Mistake, at int) verdict {
	t.Helper()
	cfg := b.right.Model.Config()
	ids := paritytest.IDs(cfg, max(52, m.Least), 1)
	set, rec := taps.NewSet(ids), taps.NewRecorder(b.wrong.Model)
	rec.Begin(paritytest.Sequence(ids), set)
	lps := b.wrong.Run(m, at, ids, rec.Watch)
	if err := rec.Err(); err != nil {
		t.Fatal(err)
	}
	if err := set.AddLogProbs(1, lps); err != nil {
		t.Fatal(err)
	}
	j := taps.Judge{Model: b.right.Model, Backend: b.right.K}
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
		for _, at := range m.Places(cfg) {
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
