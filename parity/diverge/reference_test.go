package diverge_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"furlong/checkpoint/safetensors"
	"furlong/dtype"
	"furlong/kernels/ref"
	"furlong/model/dsv4"
	"furlong/parity/diverge"
	"furlong/parity/taps"
	"furlong/parity/taps/tapstest"
	"furlong/tensor"
)

// The vectors of the public PyTorch implementation, in float32: docs/formats/oracle.md.
const vectors = "../../oracle/testdata/vectors"

func open(t *testing.T, name string) *safetensors.File {
	t.Helper()
	f, err := safetensors.Open(filepath.Join(vectors, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func read(t *testing.T, f *safetensors.File, name string) *tensor.Tensor {
	t.Helper()
	x, err := f.Tensor(name)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// referenceModel returns the model of the vectors.
func referenceModel(t *testing.T) *dsv4.Model {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(vectors, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := dsv4.ReadConfig(text)
	if err != nil {
		t.Fatal(err)
	}
	m, f := dsv4.New(cfg, dtype.F32), open(t, "model.safetensors")
	for _, p := range m.Params() {
		x := read(t, f, p.Name)
		if x.Type == dtype.I64 {
			for i, v := range x.I64() {
				p.Value.I32()[i] = int32(v)
			}
			continue
		}
		copy(p.Value.Mem, x.Mem)
	}
	return m
}

// referenceTaps returns what PyTorch had at the boundaries of which the vectors have it.
func referenceTaps(t *testing.T, pre string) *taps.Set {
	t.Helper()
	f := open(t, "oracle.safetensors")
	s := taps.NewSet(read(t, f, pre+"input_ids").I32())
	for _, name := range f.Names() {
		title, ok := strings.CutPrefix(name, pre)
		layer := -1
		if rest, in := strings.CutPrefix(title, "L"); in {
			layer, title = int(rest[0]-'0'), rest[2:]
		}
		b, known := taps.BoundaryOf(title)
		x := read(t, f, name)
		if !ok || !known || len(x.Shape) < 2 || x.Dim() == 0 {
			continue
		}
		tap := &taps.Tap{Layer: layer, Name: title, Shape: x.Shape[1:]}
		if b.Choice {
			tap.Choice = append([]int32{}, x.I32()...)
		} else {
			tap.Values = taps.Floats(x)
		}
		if err := s.Add(tap); err != nil {
			t.Fatal(err)
		}
	}
	lp := taps.Floats(read(t, f, pre+"logprobs_f64"))
	if err := s.AddLogProbs(1, lp); err != nil {
		t.Fatal(err)
	}
	return s
}

// PyTorch's own results are equal to ours up to float32 rounding, op by op; a mistake in our judge is found at the boundary where it is.
func TestPyTorchIsEqualUpToRounding(t *testing.T) {
	j := tapstest.Judge(ref.New[float32](), referenceModel(t))
	for _, pre := range []string{"T17.", "T64."} {
		s := referenceTaps(t, pre)
		if pre == "T17." && len(s.Taps()) < 80 {
			t.Fatalf("%d taps in the vectors, want those of six layers", len(s.Taps()))
		}
		f := first(t, diverge.Case{Side: "PyTorch", Layers: j.Model.Layers()}, j, s, nil)
		if f.Found || f.Kind != diverge.Rounding {
			t.Errorf("%s: %s: %s %v", pre, f.Kind, f.Says, f.More)
		}
		wrong := j
		wrong.Backend = noSinks{j.Backend}
		f = first(t, diverge.Case{Side: "PyTorch", Layers: j.Model.Layers()}, wrong, s, nil)
		want := map[string]string{"T17.": "L0.attn_out", "T64.": "L0.router_weights"}[pre]
		if !f.Found || f.Title() != want {
			t.Errorf("%s: without sinks: %s: %s", pre, f.Title(), f.Says)
		}
	}
}
