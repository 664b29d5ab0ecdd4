package furlong_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestRulesComplain shows each rule a small tree that breaks it, and the same tree mended.
func TestRulesComplain(t *testing.T) {
	long := "// Package ops computes.\n//\n// Sources: none.\npackage ops\n" + strings.Repeat("\n", 800)
	for _, tt := range []struct {
		name  string
		rule  string
		files map[string]string
		want  string // "" for no complaint
	}{
		{
			"an upper floor", "floors",
			map[string]string{"tensor/a.go": `import "furlong/ops"`, "ops/a.go": ""},
			"tensor (floor 3) imports ops (floor 9), want a lower floor",
		},
		{"a lower floor", "floors", map[string]string{"ops/a.go": `import "furlong/tensor"`, "tensor/a.go": ""}, ""},
		{
			"its own floor", "floors",
			map[string]string{"rl/a.go": `import "furlong/dtype"`, "dtype/a.go": ""},
			"rl (floor 0) imports dtype (floor 0), want a lower floor",
		},
		{"the reference kernels lie below the others", "floors", map[string]string{"kernels/cpu/a.go": `import "furlong/kernels/ref"`, "kernels/ref/a.go": ""}, ""},
		{
			"behind a build constraint", "floors",
			map[string]string{"tensor/a_arm64.go": `import "furlong/ops"`, "ops/a.go": ""},
			"tensor (floor 3) imports ops (floor 9), want a lower floor",
		},
		{"not in the table", "floors", map[string]string{"surprise/a.go": ""}, "surprise: not in the table of floors in arch_test.go"},
		{"another module", "floors", map[string]string{"surprise/a.go": "", "surprise/go.mod": "module x"}, ""},

		{
			"engines meet", "apart",
			map[string]string{"rollout/a.go": `import "furlong/kv"`, "kv/a.go": `import "furlong/train/loss"`, "train/loss/a.go": ""},
			"rollout -> kv -> train/loss: rollout must not reach train: one policy in two engines is proved only if neither leans on the other",
		},
		{
			"engines meet the other way", "apart",
			map[string]string{"train/a.go": `import "furlong/rollout/sample"`, "rollout/sample/a.go": ""},
			"train -> rollout/sample: train must not reach rollout: one policy in two engines is proved only if neither leans on the other",
		},
		{
			"the loop computes", "apart",
			map[string]string{"orchestrator/a.go": `import "furlong/kernels"`, "kernels/a.go": ""},
			"orchestrator -> kernels: orchestrator must not reach kernels: the loop computes nothing",
		},
		{"kernels know the loop's words", "apart", map[string]string{"orchestrator/a.go": `import "furlong/rl"`, "rl/a.go": ""}, ""},
		{
			"the vocabulary leans", "apart",
			map[string]string{"rl/a.go": `import "furlong/dtype"`, "dtype/a.go": ""},
			"rl -> dtype: rl must not reach another package: the vocabulary imports the standard library only",
		},

		{
			"unsafe", "imports",
			map[string]string{"tensor/b.go": `import "unsafe"`},
			"tensor/b.go imports unsafe, want that in [tensor/bytes.go device/gpu kernels/gpu comm/nccl] only: bytes are seen as numbers in one file",
		},
		{"unsafe in its file", "imports", map[string]string{"tensor/bytes.go": `import "unsafe"`}, ""},
		{
			"network", "imports",
			map[string]string{"eval/a.go": `import "net/http/httptest"`},
			"eval/a.go imports net/http/httptest, want that in [door server router remote dash launch comm/tcp track] only: few packages talk to a network",
		},
		{"network in a test", "imports", map[string]string{"eval/a_test.go": `import "net/http/httptest"`}, ""},
		{
			"flags", "imports",
			map[string]string{"train/a.go": `import "flag"`},
			"train/a.go imports flag, want that in [cmd config launch] only: settings are structs; config reads them",
		},
		{
			"a module", "modules",
			map[string]string{"train/a_test.go": `import "example.com/assert"`},
			"train/a_test.go imports example.com/assert, for which there is no decision record",
		},
		{"a module with a record", "modules", map[string]string{"kernels/cpu/a.go": `import "golang.org/x/sys/cpu"`}, ""},
		{
			"a module with a record, elsewhere", "imports",
			map[string]string{"ops/a.go": `import "golang.org/x/sys/cpu"`},
			"ops/a.go imports golang.org/x/sys/cpu, want that in [kernels/cpu] only: docs/adr/0001-dependencies.md",
		},

		{
			"a test package in the program", "test packages",
			map[string]string{"ops/a.go": `import "furlong/rl/rltest"`, "rl/rltest/a.go": ""},
			"ops imports rl/rltest, want that in tests only",
		},
		{"a test package in a test", "test packages", map[string]string{"ops/a_test.go": `import "furlong/rl/rltest"`, "rl/rltest/a.go": ""}, ""},

		{
			"environment", "environment",
			map[string]string{"train/a.go": "import \"os\"\nvar x = os.Getenv(\"X\")"},
			"train/a.go:3:9 uses os.Getenv, want that in cmd, config, launch and examples only",
		},
		{"environment in cmd", "environment", map[string]string{"cmd/furlong/a.go": "import \"os\"\nvar x = os.Getenv(\"X\")"}, ""},
		{"clock", "clocks and dice", map[string]string{"kv/a.go": "import clock \"time\"\nvar x = clock.Now()"}, "kv/a.go:3:9 uses time.Now, want a clock passed in"},
		{"clock in an engine", "clocks and dice", map[string]string{"rollout/a.go": "import \"time\"\nvar x = time.Now()"}, ""},
		{
			"dice", "clocks and dice",
			map[string]string{"model/dsv4/a.go": "import \"math/rand/v2\"\nvar x = rand.IntN(3)"},
			"model/dsv4/a.go:3:9 uses rand.IntN, want a *rand.Rand passed in",
		},
		{"dice of its own", "clocks and dice", map[string]string{"model/dsv4/a.go": "import \"math/rand/v2\"\nvar x = rand.New(rand.NewPCG(1, 2)).IntN(3)"}, ""},

		{"no comment", "package comments", map[string]string{"rl/a.go": "//"}, "rl has 0 package comments [], want one"},
		{"two comments", "package comments", map[string]string{"rl/a.go": "", "rl/b.go": ""}, "rl has 2 package comments [rl/a.go rl/b.go], want one"},
		{"no sources", "package comments", map[string]string{"kv/a.go": ""}, `kv/a.go: the package comment has no paragraph "Sources: "`},
		{"sources", "package comments", map[string]string{"ops/long.go": long}, ""},
		{"vague", "names", map[string]string{"train/util/a.go": ""}, `train/util: "util" says nothing`},
		{"long", "lengths", map[string]string{"ops/long.go": long}, "ops/long.go has 804 lines, want at most 800"},
		{"long, generated", "lengths", map[string]string{"ops/long.go": "// Code generated by hand. DO NOT EDIT.\n\n" + long}, ""},
		{"for no build", "floors", map[string]string{"surprise/a.go": "//go:build ignore\n\npackage main"}, ""},
	} {
		t.Run(tt.rule+": "+tt.name, func(t *testing.T) {
			complaints := check(t, tt.rule, tt.files)
			if got := strings.Join(complaints, "\n"); got != tt.want {
				t.Errorf("%s says\n%s\nwant\n%s", tt.rule, got, tt.want)
			}
		})
	}
}

// check runs one rule over files. One without a package clause is a body: it gets a comment and a clause. "//" gets
// the clause only.
func check(t *testing.T, name string, files map[string]string) []string {
	t.Helper()
	fsys := fstest.MapFS{}
	for p, text := range files {
		switch {
		case text == "//":
			text = "package x\n"
		case !strings.Contains(text, "package "):
			text = "// Package x is.\npackage x; " + text
		}
		fsys[p] = &fstest.MapFile{Data: []byte(text)}
	}
	tr, err := load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(rules, func(r rule) bool { return r.name == name })
	return rules[i].check(tr)
}

func TestTableHasNoTwins(t *testing.T) {
	seen := map[string]bool{}
	for name := range strings.FieldsSeq(floors) {
		if seen[name] {
			t.Errorf("%s stands twice in the table", name)
		}
		seen[name] = true
	}
}
