package servertest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A tensor is one entry of a safetensors file.
type tensor struct {
	dtype string
	shape []int
	data  []byte
}

// A weightSet holds tensors by name.
type weightSet map[string]tensor

// readWeights reads all safetensors files of a folder.
func readWeights(t testing.TB, dir string) weightSet {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.safetensors"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no safetensors in %s: %v", dir, err)
	}
	out := weightSet{}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err == nil {
			err = out.parse(raw)
		}
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
	}
	return out
}

// parse adds the tensors of one file.
func (w weightSet) parse(raw []byte) error {
	if len(raw) < 8 {
		return fmt.Errorf("%d bytes", len(raw))
	}
	n := binary.LittleEndian.Uint64(raw)
	if n > uint64(len(raw)-8) {
		return fmt.Errorf("header of %d bytes in a file of %d", n, len(raw))
	}
	var header map[string]json.RawMessage
	if err := json.Unmarshal(raw[8:8+n], &header); err != nil {
		return err
	}
	data := raw[8+n:]
	for name, entry := range header {
		if name == "__metadata__" {
			continue
		}
		var e struct {
			Dtype   string `json:"dtype"`
			Shape   []int  `json:"shape"`
			Offsets [2]int `json:"data_offsets"`
		}
		if err := json.Unmarshal(entry, &e); err != nil {
			return err
		}
		w[name] = tensor{e.Dtype, e.Shape, data[e.Offsets[0]:e.Offsets[1]]}
	}
	return nil
}

// names returns the names in order.
func (w weightSet) names() []string { return slices.Sorted(maps.Keys(w)) }

// encode writes a safetensors file; metadata may be nil.
func (w weightSet) encode(metadata map[string]string) []byte {
	header := m{}
	var data bytes.Buffer
	for _, name := range w.names() {
		t := w[name]
		shape := t.shape
		if shape == nil {
			shape = []int{}
		}
		header[name] = m{"dtype": t.dtype, "shape": shape, "data_offsets": []int{data.Len(), data.Len() + len(t.data)}}
		data.Write(t.data)
	}
	if metadata != nil {
		header["__metadata__"] = metadata
	}
	head := encode(header)
	head = append(head, bytes.Repeat([]byte{' '}, (8-len(head)%8)%8)...)
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(head)))
	return append(append(out, head...), data.Bytes()...)
}

// only returns the tensors that keep says.
func (w weightSet) only(keep func(name string) bool) weightSet {
	out := weightSet{}
	for name, t := range w {
		if keep(name) {
			out[name] = t
		}
	}
	return out
}

// retyped returns the set with one dtype called another; bytes stay.
func (w weightSet) retyped(from, to string) weightSet {
	out := maps.Clone(w)
	for name, t := range out {
		if t.dtype == from {
			out[name] = tensor{to, t.shape, t.data}
		}
	}
	return out
}

// spoiled returns the set with one number of a tensor overwritten.
func (w weightSet) spoiled(name string, bits []byte) weightSet {
	out := maps.Clone(w)
	t := out[name]
	out[name] = tensor{t.dtype, t.shape, append(slices.Clone(bits), t.data[len(bits):]...)}
	return out
}

// isScale reports whether a name is that of block scales.
func isScale(name string) bool {
	return strings.HasSuffix(name, ".scale") || strings.HasSuffix(name, ".weight_scale_inv")
}

// writeModel writes the folder of a checkpoint: the other files of like, and w as its weights.
func writeModel(t testing.TB, dir, like string, w weightSet) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(like)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.Contains(e.Name(), "safetensors") || e.IsDir() {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(like, e.Name()))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, e.Name()), raw, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "model.safetensors"), w.encode(nil), 0o644); err != nil {
		t.Fatal(err)
	}
}

// room returns an empty folder from which the server may load.
func (c *check) room() string {
	c.Helper()
	if c.Room == "" {
		c.Skip("needs a folder from which the server may load weights")
	}
	dir, err := os.MkdirTemp(c.Room, "suite")
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
