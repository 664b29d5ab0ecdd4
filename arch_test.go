package furlong_test

import (
	"os"
	"testing"
)

// floors lists every package, ground first: a package imports packages of lower lines only. x/* is a package right
// under x that has no entry of its own. A new package must be entered here; moving one needs a decision record.
const floors = `
dtype tokenizer grammar rl progress nearest dash/api dash/page reward/mathexpr internal/* kernels/cpu/asm metrics/disk metrics/disk/disktest
metrics/* api/* door
metrics api/openai reward/published figure
tensor figure/raster reward data/* summary metrics/run chat
data reward/sheet
device data/doctor
device/gpu kernels comm quant checkpoint weightsync
kernels/ref comm/* checkpoint/safetensors rl/rltest rl/ticktest
kernels/* checkpoint/* starter metrics/rollouts
ops checkpoint/convert checkpoint/intake
kv train/loss train/optim train/schedule rollout/sched rollout/sample
model train/pipe
model/*
parity/taps
parity/diverge parity/taps/tapstest
parity/suspect parity/paritytest
rollout train remote/* parity orchestrator/gather
parity/page
orchestrator/recorded
layout
orchestrator eval sft server router oracle bench
verdict track/*
journal server/servertest dash/dashgen report
config dash/store
launchline dash
launch
cmd/furlong cmd/formats cmd/dashgen examples/*
`

// apart are pairs of which the first must not reach the second by any path of imports, nor the second the first unless
// the row is oneWay. Names stand for everything below them too, and "" for every other package.
var apart = []struct {
	from, to string
	oneWay   bool
	why      string
}{
	{"rollout", "train", false, "one policy in two engines is proved only if neither leans on the other"},
	{"orchestrator", "rollout", true, "the loop knows engines as rl interfaces"},
	{"orchestrator", "train", true, "the loop knows engines as rl interfaces"},
	{"orchestrator", "remote", true, "the loop knows engines as rl interfaces"},
	{"orchestrator", "kernels", true, "the loop computes nothing"},
	{"rl", "", true, "the vocabulary imports the standard library only"},
}

// A permit says which packages may import something.
type permit struct {
	path  string   // an import path; everything below it too
	where []string // packages, with everything below them, or files
	tests bool     // tests may import it anywhere
	why   string
}

var only = []permit{
	{"unsafe", []string{"tensor/bytes.go", "device/gpu", "kernels/gpu", "comm/nccl"}, false, "bytes are seen as numbers in one file"},
	{"C", nil, false, "the binary builds without cgo"},
	{"net/http", []string{"door", "server", "router", "remote", "dash", "launch", "comm/tcp", "track"}, true, "few packages talk to a network"},
	{"flag", []string{"cmd", "config", "launch"}, true, "settings are structs; config reads them"},
	{"golang.org/x/sys/cpu", []string{"kernels/cpu"}, false, "docs/adr/0001-dependencies.md"},
	{"golang.org/x/term", []string{"cmd/furlong/env.go"}, false, "docs/adr/0001-dependencies.md"},
	{"github.com/lmittmann/tint", []string{"cmd/furlong/env.go"}, false, "docs/adr/0001-dependencies.md"},
	{"github.com/zeebo/xxh3", []string{"weightsync/digest.go"}, false, "docs/adr/0010-attested-updates.md"},
	{"github.com/klauspost/compress/zstd", []string{"checkpoint/pull"}, false, "docs/adr/0016-wire-updates.md"},
	{"github.com/zeebo/blake3", []string{"checkpoint/pull"}, false, "docs/adr/0016-wire-updates.md"},
	{"go.yaml.in/yaml/v3", []string{"cmd/furlong/eval_yaml.go"}, false, "docs/adr/0024-yaml.md"},
	{"github.com/parquet-go/parquet-go", []string{"data/rows"}, false, "docs/adr/0020-parquet.md"},
	{"github.com/prometheus/client_golang", []string{"server/metrics.go", "track/prometheus"}, true, "docs/adr/0014-server.md"},
	{"github.com/prometheus/common", []string{"server/info_test.go", "track/prometheus"}, false, "docs/adr/0014-server.md"},
	{"golang.org/x/image", []string{"figure/raster"}, false, "docs/adr/0027-png-figures.md"},
	{"github.com/rogpeppe/go-internal/testscript", []string{"cmd/furlong/main_test.go"}, false, "docs/adr/0001-dependencies.md"},
}

// cores are the packages whose result depends on their arguments alone: no clock, no dice of their own.
var cores = []string{
	"dtype", "tensor", "kernels", "ops", "kv", "model", "quant", "rollout/sched", "rollout/sample",
	"train/loss", "train/optim", "train/pipe", "orchestrator", "config", "progress", "data",
}

// numeric are the packages that compute: their doc says where their formulas come from.
var numeric = []string{"dtype", "tensor", "kernels", "ops", "kv", "model", "quant", "train", "rollout"}

// TestHouse holds the whole tree to the rules.
func TestHouse(t *testing.T) {
	tr, err := load(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	if len(tr.packages) == 0 {
		t.Fatal("no packages found")
	}
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			for _, complaint := range r.check(tr) {
				t.Error(complaint)
			}
		})
	}
}
