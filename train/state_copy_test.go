package train

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"furlong/dtype"
)

// copiers are engines of every kind of state.
func copiers(t *testing.T) map[string]*Engine {
	t.Helper()
	packed := schedule()
	packed.Format = "fp8+fp4"
	return map[string]*Engine{
		"F32":         cpuEngine(t, schedule(), dtype.F32),
		"BF16":        cpuEngine(t, schedule(), dtype.BF16),
		"fp8+fp4":     cpuEngine(t, packed, dtype.BF16),
		"with critic": accompaniedCPU(t, critics(), dtype.BF16),
	}
}

// A copy is the state of its moment, byte for byte as Save writes it, whatever the engine does since and while it is written.
func TestCopyIsTheStateOfItsMoment(t *testing.T) {
	for name, e := range copiers(t) {
		for seed := range uint64(2) { // the second copy goes where the first was
			mustStep(t, e, batch(seed, 2, 4))
			want := t.TempDir()
			if err := e.Save(t.Context(), want); err != nil {
				t.Fatal(err)
			}
			got, done := t.TempDir(), make(chan error)
			c := e.Copy()
			if seed == 0 {
				mustStep(t, e, batch(seed+10, 2, 4))
			}
			go func() { done <- c.Save(t.Context(), got) }()
			mustStep(t, e, batch(seed+20, 2, 4))
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if g, w := contentsOf(t, got), contentsOf(t, want); !maps.Equal(g, w) {
				t.Errorf("%s: copy %d holds other bytes than the engine did in %v", name, seed, unlike(g, w))
			}
			if len(contentsOf(t, want)) < 3 {
				t.Errorf("%s: only %v was compared", name, slices.Collect(maps.Keys(contentsOf(t, want))))
			}
		}
	}
}

// contentsOf returns the files below dir.
func contentsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		out[strings.TrimPrefix(path, dir)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func unlike(a, b map[string]string) (names []string) {
	for n := range b {
		if a[n] != b[n] {
			names = append(names, n)
		}
	}
	return names
}

// What a copy takes is said before there is one: weights that are trained in their format, three float32 of each.
func TestMemoryOfACopy(t *testing.T) {
	for name, e := range copiers(t) {
		said := e.CopyBytes()
		c := e.Copy()
		took := 0
		for _, s := range []*stored{&c.actor, c.critic} {
			if s == nil {
				continue
			}
			for _, m := range s.moments {
				took += len(m.Mem)
			}
			for _, p := range s.params {
				if !sameMemory(e, p.Value.Mem) {
					took += memory(p.Value)
				}
			}
		}
		if said != took || said == 0 {
			t.Errorf("%s: a copy is said to take %d bytes, and takes %d", name, said, took)
		}
	}
}

// sameMemory reports whether memory is that of a weight of e.
func sameMemory(e *Engine, mem []byte) bool {
	all := e.Params()
	if e.critic != nil {
		all = slices.Concat(all, e.critic.Params())
	}
	for _, p := range all {
		if len(mem) > 0 && len(p.Value.Mem) > 0 && &p.Value.Mem[0] == &mem[0] {
			return true
		}
	}
	return false
}

// Without the optimizer there are the weights, and nothing that a run could go on from.
func TestLeaveOutOptimizer(t *testing.T) {
	e := accompaniedCPU(t, critics(), dtype.BF16)
	e.LeaveOutOptimizer()
	for name, save := range map[string]func(dir string) error{
		"engine": func(dir string) error { return e.Save(t.Context(), dir) },
		"copy":   func(dir string) error { return e.Copy().Save(t.Context(), dir) },
	} {
		dir := t.TempDir()
		if err := save(dir); err != nil {
			t.Fatal(err)
		}
		for path := range contentsOf(t, dir) {
			if strings.HasSuffix(path, optimFile) {
				t.Errorf("%s: %s is there", name, path)
			}
		}
		if err := LoadModel(e.actor, filepath.Join(dir, modelDir), files()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := e.Load(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "saved with --no-save-optim?") {
			t.Errorf("%s: loading gives %v, want an error that names the flag", name, err)
		}
	}
}
