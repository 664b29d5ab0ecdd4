package safetensors

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"furlong/checkpoint"
	"furlong/dtype"
	"furlong/tensor"
)

func TestDirRoundTrip(t *testing.T) {
	entries, tensors := sample()
	for _, tt := range []struct {
		name       string
		shardBytes int64
		files      []string
	}{
		{"one file", 0, []string{"config.json", "model.safetensors"}},
		{"all fit", 1000, []string{"config.json", "model.safetensors"}},
		{"shards", 24, []string{
			"config.json", "model-00001-of-00003.safetensors", "model-00002-of-00003.safetensors",
			"model-00003-of-00003.safetensors", "model.safetensors.index.json",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			dir := filepath.Join(root, "parent", "ckpt")
			d, err := CreateDir(dir, entries, map[string]string{"format": "pt"}, tt.shardBytes)
			if err != nil {
				t.Fatal(err)
			}
			if err := d.WriteFile("config.json", []byte("{}")); err != nil {
				t.Fatal(err)
			}
			writeAll(t, d, tensors)
			wantFiles(t, dir, tt.files...)
			wantFiles(t, filepath.Dir(dir), "ckpt")
			s, err := OpenDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			compare(t, s, tensors)
			if _, err := s.Tensor("none"); err == nil {
				t.Error("Tensor(none) is there")
			}
		})
	}
}

func TestOpenDirTakesOneFile(t *testing.T) {
	s, err := OpenDir(put(t, image(two, 12)))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if i, ok := s.Info("b"); !ok || i.String() != "F32[2 1]" {
		t.Errorf("Info(b) = %v, %v", i, ok)
	}
}

func TestNoTensorsAtAll(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	d, err := CreateDir(dir, nil, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	writeAll(t, d, nil)
	wantFiles(t, dir, "model.safetensors")
}

func TestCreateDirKeepsWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "notes"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := CreateDir(dir, nil, nil, 0); err == nil || !strings.Contains(err.Error(), "has files (notes") {
		t.Errorf("error is %v, want one that names the file", err)
	}
	wantFiles(t, dir, "notes")
}

func TestFailedDirLeavesNothing(t *testing.T) {
	entries, tensors := sample()
	for name, spoil := range map[string]func(d *DirWriter) error{
		"wrong shape": func(d *DirWriter) error { return d.Write("f32", tensors["bf16"]) },
		"bad name":    func(d *DirWriter) error { return d.WriteFile("../x", nil) },
		"name of a shard": func(d *DirWriter) error {
			return d.WriteFile(d.of["bytes"].name, nil)
		},
		"name of the index": func(d *DirWriter) error { return d.WriteFile(indexName, nil) },
		"same file twice": func(d *DirWriter) error {
			d.WriteFile("x", nil)
			return d.WriteFile("x", nil)
		},
	} {
		root := t.TempDir()
		d, err := CreateDir(filepath.Join(root, "d"), entries, nil, 20)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Write("bytes", tensors["bytes"]); err != nil {
			t.Fatal(err)
		}
		if err := d.Write("nibbles", tensors["nibbles"]); err != nil {
			t.Fatal(err)
		}
		err = spoil(d)
		if err == nil || !strings.Contains(err.Error(), root) {
			t.Errorf("%s: error is %v, want one that names the directory", name, err)
		}
		if d.Close() == nil {
			t.Errorf("%s: closed after %v", name, err)
		}
		wantFiles(t, root)
	}
}

func TestDirFilledMeanwhile(t *testing.T) {
	entries, tensors := sample()
	dir := filepath.Join(t.TempDir(), "d")
	d, err := CreateDir(dir, entries, nil, 20)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "other"), 0o777); err != nil {
		t.Fatal(err)
	}
	for name, x := range tensors {
		if err := d.Write(name, x); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Close(); err == nil {
		t.Error("closed over a directory that is not empty")
	}
	wantFiles(t, dir, "other")
	wantFiles(t, filepath.Dir(dir), "d")
}

// pair returns a directory with two shards of one tensor each, and its index.
func pair(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), "d")
	tensors := map[string]*tensor.Tensor{"a": filled(1, dtype.F32, 2), "b": filled(2, dtype.F32, 3)}
	entries := []checkpoint.Entry{{Name: "a", Info: checkpoint.InfoOf(tensors["a"])}, {Name: "b", Info: checkpoint.InfoOf(tensors["b"])}}
	d, err := CreateDir(dir, entries, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	writeAll(t, d, tensors)
	return dir
}

func TestIndexAndShardsMustAgree(t *testing.T) {
	const first, second = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
	index := func(weightMap string) func(dir string) {
		return func(dir string) {
			os.WriteFile(filepath.Join(dir, indexName), []byte(`{"metadata":{},"weight_map":`+weightMap+`}`), 0o666)
		}
	}
	for _, tt := range []struct {
		name  string
		spoil func(dir string)
		want  []string
	}{
		{"missing shard", func(dir string) { os.Remove(filepath.Join(dir, second)) }, []string{"shard of 1 tensors", second}},
		{"listed but absent", index(`{"a":"` + first + `","b":"` + second + `","c":"` + second + `"}`), []string{second, `"c": is in the index but not in the shard`}},
		{"present but not listed", index(`{"a":"` + first + `"}`), nil}, // the second shard is not the index's business
		{"listed elsewhere", index(`{"a":"` + second + `","b":"` + second + `"}`), []string{`"a": is in the index but not in the shard`}},
		{"in both shards", func(dir string) {
			os.Remove(filepath.Join(dir, second))
			w, _ := Create(filepath.Join(dir, second), []checkpoint.Entry{
				{Name: "a", Info: checkpoint.Info{Type: dtype.U8, Shape: []int{0}}},
				{Name: "b", Info: checkpoint.Info{Type: dtype.U8, Shape: []int{0}}},
				{Name: "c", Info: checkpoint.Info{Type: dtype.U8, Shape: []int{0}}},
			}, nil)
			for _, name := range []string{"a", "b", "c"} {
				w.Write(name, filled(0, dtype.U8, 0))
			}
			w.Close()
		}, []string{second + `: tensor "a": the index puts it in ` + first, second + `: tensor "c": is not in the index`}},
		{"damaged shard", func(dir string) { os.Truncate(filepath.Join(dir, second), 20) }, []string{second, "header is"}},
		{"same name twice", index(`{"a":"` + first + `","a":"` + second + `"}`), []string{`"a" comes twice`}},
		{"shards of two sets", index(`{"a":"` + first + `","b":"model-00002-of-00003.safetensors"}`), []string{"names " + first + " and model-00002-of-00003.safetensors: shards of two checkpoints"}},
		{"shard outside", index(`{"a":"../x.safetensors"}`), []string{`its shard is "../x.safetensors"`}},
		{"shard is absolute", index(`{"a":"/etc/passwd"}`), []string{`its shard is "/etc/passwd"`}},
		{"shard is a number", index(`{"a":1}`), []string{`"a" is not a string`}},
		{"no weight map", func(dir string) { os.WriteFile(filepath.Join(dir, indexName), []byte(`{}`), 0o666) }, []string{"has no weight_map"}},
		{"two weight maps", index(`{},"weight_map":{"a":"` + first + `"}`), []string{`"weight_map" comes twice`}},
		{"weight map is a list", index(`[]`), []string{"weight_map", `want '{'`}},
		{"no JSON", index(`{`), []string{indexName}},
		{"not UTF-8", index("{\"\xff\":\"x\"}"), []string{"not UTF-8"}},
		{"a single file beside", func(dir string) { os.WriteFile(filepath.Join(dir, singleName), image(`{}`, 0), 0o666) }, []string{"which one is the checkpoint?"}},
		{"neither", func(dir string) { os.Remove(filepath.Join(dir, indexName)) }, []string{"has neither"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := pair(t)
			tt.spoil(dir)
			s, err := OpenDir(dir)
			if err == nil {
				s.Close()
			}
			if (err == nil) != (tt.want == nil) {
				t.Fatalf("error is %v, want %q", err, tt.want)
			}
			for _, want := range append(tt.want, dir) {
				if err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("error is %q, want %q in it", err, want)
				}
			}
		})
	}
}
