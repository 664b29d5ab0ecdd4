package train

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"furlong/checkpoint"
	"furlong/checkpoint/safetensors"
	"furlong/dtype"
	"furlong/model/dsv4"
	"furlong/tensor"
)

// schedule is a setting whose learning rate is another in every step.
func schedule() Config {
	c := settings()
	c.Optim.Decay, c.Optim.Warmup, c.Planned, c.FreezeGate = "cosine", 2, 10, false
	return c
}

// Three steps are one step, save, load into an engine that knows nothing, two steps: every bit of weights, masters and moments, and every
// figure.
func TestResume(t *testing.T) {
	for _, format := range []dtype.Type{dtype.F32, dtype.BF16} {
		straight := cpuEngine(t, schedule(), format)
		var want string
		for seed := range uint64(3) {
			want = fmt.Sprint(mustStep(t, straight, batch(seed, 2, 4)))
		}

		dir := saved(t, format, 1)
		k := cpuEngine(t, schedule(), format).whole().k
		resumed := engine(t, schedule(), actor(format, 77), k)
		mustStep(t, resumed, batch(9, 2, 4)) // and knows something wrong
		if err := resumed.Load(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		if n := resumed.Steps(); n != 1 {
			t.Errorf("%v: %d steps taken, want 1", format, n)
		}
		mustStep(t, resumed, batch(1, 2, 4))
		if got := fmt.Sprint(mustStep(t, resumed, batch(2, 2, 4))); got != want {
			t.Errorf("%v: figures of step 3 are %v, want %v", format, got, want)
		}
		wantSame(t, format.String(), state(resumed), state(straight))
		if Digest(resumed.Params()) != Digest(straight.Params()) {
			t.Errorf("%v: digests differ", format)
		}
	}
}

// saved returns the directory of an engine's state after some steps.
func saved(t testing.TB, format dtype.Type, steps uint64) string {
	t.Helper()
	e := cpuEngine(t, schedule(), format)
	for seed := range steps {
		mustStep(t, e, batch(seed, 2, 4))
	}
	dir := t.TempDir()
	if err := e.Save(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The same state makes the same files.
func TestSaveIsDeterministic(t *testing.T) {
	a, b := saved(t, dtype.BF16, 1), saved(t, dtype.BF16, 1)
	for _, name := range []string{optimFile, filepath.Join(modelDir, "model.safetensors"), filepath.Join(modelDir, "config.json")} {
		x, err := os.ReadFile(filepath.Join(a, name))
		if err != nil {
			t.Fatal(err)
		}
		y, err := os.ReadFile(filepath.Join(b, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(x, y) {
			t.Errorf("%s differs between two runs", name)
		}
	}
}

// What is saved beside the optimizer is an ordinary checkpoint: anybody can load the model from it alone.
func TestModelOfASavedState(t *testing.T) {
	dir := saved(t, dtype.BF16, 2)
	want := cpuEngine(t, schedule(), dtype.BF16)
	for seed := range uint64(2) {
		mustStep(t, want, batch(seed, 2, 4))
	}
	m := dsv4.New(small, dtype.BF16)
	if err := LoadModel(m, filepath.Join(dir, modelDir), files()); err != nil {
		t.Fatal(err)
	}
	if Digest(m.Params()) != Digest(want.Params()) {
		t.Error("the model in the checkpoint is not the actor")
	}
}

// A spoiler damages a saved state.
type spoiler struct {
	name  string
	spoil func(t *testing.T, dir string)
	want  []string
}

var spoilers = []spoiler{
	{"no optimizer", func(t *testing.T, dir string) { remove(t, dir, optimFile) }, []string{optimFile}},
	{"no model", func(t *testing.T, dir string) { remove(t, dir, modelDir) }, []string{modelDir}},
	{"cut short", func(t *testing.T, dir string) { truncate(t, filepath.Join(dir, optimFile), 1) }, []string{optimFile}},
	{"model cut short", func(t *testing.T, dir string) { truncate(t, filepath.Join(dir, modelDir, "model.safetensors"), 1) }, []string{"model.safetensors"}},
	{"tensor missing", func(t *testing.T, dir string) {
		rewrite(t, dir, func(all map[string]*tensor.Tensor, _ map[string]string) { delete(all, "model.norm.weight.exp_avg") })
	}, []string{`tensor "model.norm.weight.exp_avg" is missing`}},
	{"tensor too much", func(t *testing.T, dir string) {
		rewrite(t, dir, func(all map[string]*tensor.Tensor, _ map[string]string) {
			all["stray.master"] = tensor.New(dtype.F32, 2)
		})
	}, []string{`tensor "stray.master" is of no trained parameter`}},
	{"other shape and format", func(t *testing.T, dir string) {
		rewrite(t, dir, func(all map[string]*tensor.Tensor, _ map[string]string) {
			all["model.norm.weight.exp_avg"] = tensor.New(dtype.F32, 5)
			all["lm_head.weight.exp_avg_sq"] = tensor.New(dtype.BF16, 24, 24)
		})
	}, []string{`tensor "model.norm.weight.exp_avg" is F32[5], want F32[24]`, `tensor "lm_head.weight.exp_avg_sq" is BF16[24 24], want F32[24 24]`}},
	{"no count", func(t *testing.T, dir string) {
		rewrite(t, dir, func(_ map[string]*tensor.Tensor, meta map[string]string) { delete(meta, stepsKey) })
	}, []string{`steps is "", want a count`}},
	{"strange count", func(t *testing.T, dir string) {
		rewrite(t, dir, func(_ map[string]*tensor.Tensor, meta map[string]string) { meta[stepsKey] = "-3" })
	}, []string{`steps is "-3", want a count`}},
	{"of frozen gates", func(t *testing.T, dir string) {
		c := schedule()
		c.FreezeGate = true
		save(t, cpuEngine(t, c, dtype.BF16), dir)
	}, []string{`tensor "model.layers.2.mlp.gate.weight.master" is missing`}},
	{"in another format", func(t *testing.T, dir string) {
		save(t, cpuEngine(t, schedule(), dtype.F32), dir)
	}, []string{`weights are in "F32", want BF16: a run goes on in the format it began in`}},
}

// mismatches are damages that no header shows: they are found while the numbers are read.
var mismatches = []spoiler{
	{"masters of another step", func(t *testing.T, dir string) {
		rewrite(t, dir, func(all map[string]*tensor.Tensor, _ map[string]string) {
			x := all["model.layers.1.mlp.experts.down_proj.master"]
			x.F32()[3] = 1.5 * (1 + x.F32()[3])
		})
	}, []string{`tensor "model.layers.1.mlp.experts.down_proj.master" rounds to other values than the model beside it has`}},
}

// A state that does not fit is refused by name, and the engine is what it was.
func TestDamagedStates(t *testing.T) {
	long(t)
	e := cpuEngine(t, schedule(), dtype.BF16)
	mustStep(t, e, batch(5, 2, 4))
	before := state(e)
	good := saved(t, dtype.BF16, 1)
	for _, s := range spoilers {
		checkRefused(t, e, good, s)
		wantSame(t, s.name, state(e), before)
	}
	for _, s := range mismatches {
		checkRefused(t, cpuEngine(t, schedule(), dtype.BF16), good, s)
	}
	if err := e.Load(t.Context(), good); err != nil {
		t.Errorf("after all refusals a good state is refused: %v", err)
	}
}

func checkRefused(t *testing.T, e *Engine, good string, s spoiler) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(good)); err != nil {
		t.Fatal(err)
	}
	s.spoil(t, dir)
	err := e.Load(t.Context(), dir)
	for _, want := range s.want {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v, want one with %q", s.name, err, want)
		}
	}
}

func TestStateOfAnotherModel(t *testing.T) {
	other := small
	other.Hidden, other.Layers = 32, small.Layers[:3]
	k := cpuEngine(t, schedule(), dtype.BF16).whole().k
	m := dsv4.New(other, dtype.BF16)
	m.Init(1)
	e := engine(t, schedule(), m, k)
	before := state(e)
	err := e.Load(t.Context(), saved(t, dtype.BF16, 1))
	for _, want := range []string{`tensor "model.embed_tokens.weight.master" is F32[24 24], want F32[24 32]`, "more"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want one with %q", err, want)
		}
	}
	wantSame(t, "refused", state(e), before)
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

func truncate(t *testing.T, path string, by int64) {
	t.Helper()
	info, err := os.Stat(path)
	if err == nil {
		err = os.Truncate(path, info.Size()-by)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// save replaces dir's content by e's state.
func save(t *testing.T, e *Engine, dir string) {
	t.Helper()
	remove(t, dir, modelDir)
	if err := e.Save(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
}

// rewrite changes the optimizer's file.
func rewrite(t *testing.T, dir string, change func(all map[string]*tensor.Tensor, meta map[string]string)) {
	t.Helper()
	path := filepath.Join(dir, optimFile)
	f, err := safetensors.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	all, meta := map[string]*tensor.Tensor{}, f.Metadata()
	for _, name := range f.Names() {
		x, err := f.Tensor(name)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = x.Clone()
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	change(all, meta)
	var entries []checkpoint.Entry
	for _, name := range slices.Sorted(maps.Keys(all)) {
		entries = append(entries, checkpoint.Entry{Name: name, Info: checkpoint.InfoOf(all[name])})
	}
	w, err := safetensors.Create(path, entries, meta)
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range all {
		if err := w.Write(name, x); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// A place that cannot be written is an error, and a second save into one directory does not replace the first model in silence.
func TestSaveRefuses(t *testing.T) {
	e := cpuEngine(t, settings(), dtype.BF16)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := e.Save(t.Context(), file); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("saved into a file: error is %v", err)
	}
	dir := saved(t, dtype.BF16, 1)
	if err := e.Save(t.Context(), dir); err == nil || !strings.Contains(err.Error(), modelDir) {
		t.Errorf("saved over another state: error is %v", err)
	}
}
