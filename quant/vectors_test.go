package quant_test

import (
	"strings"
	"testing"

	"furlong/checkpoint/safetensors"
	"furlong/quant"
	"furlong/tensor"
)

func open(t *testing.T) *safetensors.File {
	t.Helper()
	f, err := safetensors.Open("../oracle/testdata/vectors/quant.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestReferenceVectors(t *testing.T) {
	f := open(t)
	checks, err := quant.Verify(f.Tensor)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		if c.Wrong != 0 {
			t.Errorf("%s: %d of %d are wrong, first: %s", c.Name, c.Wrong, c.Count, c.First)
		}
	}
}

// inputs are the tensors of the file that are not results.
var inputs = map[string]bool{"e4m3.cast_in": true, "bf16.cast_in": true, "e2m1.cast_in": true, "scale.amax": true, "edge.x": true, "w": true, "x": true}

// Every result in the file is compared, all of it: a slip in any one is seen, and only there.
func TestEverySlipIsSeen(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing here runs beside anything else, and it takes long under the race detector")
	}
	f := open(t)
	for _, name := range f.Names() {
		if inputs[name] {
			continue
		}
		checks, err := quant.Verify(func(n string) (*tensor.Tensor, error) {
			x, err := f.Tensor(n)
			if n == name && err == nil {
				x = x.Clone()
				x.Mem[len(x.Mem)-1] ^= 1
			}
			return x, err
		})
		if err != nil {
			t.Fatal(err)
		}
		seen := false
		for _, c := range checks {
			if c.Name == name {
				seen = true
			}
			if (c.Wrong != 0) != (c.Name == name) || c.Wrong > 1 || (c.First != "") != (c.Name == name) {
				t.Errorf("slip in %s: %s has %d wrong: %s", name, c.Name, c.Wrong, c.First)
			}
		}
		if !seen {
			t.Errorf("%s is not checked", name)
		}
	}
}

func TestVerifyNeedsEveryTensor(t *testing.T) {
	f := open(t)
	for _, name := range f.Names() {
		_, err := quant.Verify(func(n string) (*tensor.Tensor, error) {
			if n == name {
				n += " (gone)"
			}
			return f.Tensor(n)
		})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: error is %v, want one that names it", name, err)
		}
	}
}
