package starter

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"slices"
	"strings"
	"testing"

	"furlong/checkpoint/hf"
	"furlong/dtype"
	"furlong/model/dsv4"
)

// The shape is one that exercises everything: each kind of layer, each router.
func TestConfig(t *testing.T) {
	c, err := dsv4.ReadConfig(Config)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []dsv4.AttentionKind
	var routers []dsv4.RouterKind
	for _, l := range c.Layers {
		kinds, routers = append(kinds, l.Attention), append(routers, l.Router)
	}
	for _, k := range []dsv4.AttentionKind{dsv4.W, dsv4.C4, dsv4.C128} {
		if !slices.Contains(kinds, k) {
			t.Errorf("no layer is %v", k)
		}
	}
	for _, r := range []dsv4.RouterKind{dsv4.Learned, dsv4.Hash} {
		if !slices.Contains(routers, r) {
			t.Errorf("no layer is %v", r)
		}
	}
	n := 0
	for _, p := range dsv4.New(c, dtype.BF16).Params() {
		n += p.Value.Len()
	}
	if n < 1_500_000 || n > 2_500_000 {
		t.Errorf("%d parameters, want about two million", n)
	}
}

func TestWeightsFitTheConfig(t *testing.T) {
	c, err := dsv4.ReadConfig(Config)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Weights()
	if err != nil {
		t.Fatal(err)
	}
	m := dsv4.New(c, dtype.BF16)
	report, err := hf.LoadFrom(f, m.Params(), hf.LoadOptions{Layers: len(c.Layers), Experts: c.Experts})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Rounded) != 0 {
		t.Errorf("weights had to be rounded: %v", report)
	}
	for _, p := range m.Params() {
		if !slices.ContainsFunc(p.Value.Mem, func(b byte) bool { return b != 0 }) && !p.Frozen {
			t.Errorf("%s is all zeros", p.Name)
		}
	}
}

// README.md says which bytes these are and how they were made.
func TestWeightsAreTheDocumentedOnes(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(weights)
	if got := hex.EncodeToString(sum[:]); !strings.Contains(string(readme), got) {
		t.Errorf("model.safetensors has sha256 %s, which README.md does not name", got)
	}
}

// Without weights there is an error that names what is damaged, not a panic.
func TestWeightsOfAnEmptyFile(t *testing.T) {
	defer func(w []byte) { weights = w }(weights)
	weights = nil
	if _, err := Weights(); err == nil || !strings.Contains(err.Error(), "built-in model") {
		t.Errorf("error is %v, want one that names the built-in model", err)
	}
}
