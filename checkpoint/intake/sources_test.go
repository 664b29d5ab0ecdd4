package intake

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"furlong/checkpoint"
	"furlong/checkpoint/hf"
	"furlong/checkpoint/safetensors"
	"furlong/dtype"
	"furlong/rl"
	"furlong/tensor"
)

// file returns tensors as one safetensors file.
func file(t testing.TB, ts []rl.Tensor) []byte {
	t.Helper()
	var list []checkpoint.Entry
	for _, x := range ts {
		typ, _ := ParseType(x.Type)
		list = append(list, checkpoint.Entry{Name: x.Name, Info: checkpoint.Info{Type: typ, Shape: x.Shape}})
	}
	path := filepath.Join(t.TempDir(), "x.safetensors")
	w, err := safetensors.Create(path, list, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range ts {
		if err := w.Write(x.Name, &tensor.Tensor{Type: list[i].Type, Shape: x.Shape, Mem: x.Data}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// A stream is a bucket: several make a version, and their bytes go to their places however the stream is cut.
func TestPutStream(t *testing.T) {
	for _, format := range []string{"bf16", "fp8+fp4"} {
		want := stored(t, format, 1)
		ts := files(t, want, hf.Wire)
		ts = append(ts, rl.Tensor{Name: "some.stranger", Type: "U8", Shape: []int{3}, Data: []byte{1, 2, 3}})
		half := len(ts) / 2
		s := describe(t, format).Begin(Options{})
		for _, part := range [][]rl.Tensor{ts[:half], ts[half:]} {
			if err := s.PutStream("bucket", iotest.HalfReader(bytes.NewReader(file(t, part)))); err != nil {
				t.Fatal(err)
			}
		}
		got, report, err := taken(t, s, nil)
		if err != nil {
			t.Fatal(err)
		}
		sameBytes(t, format, got, want)
		if report.Unknown != 1 || report.Tensors != len(ts)-1 {
			t.Errorf("%s: %v", format, report)
		}
	}
}

// A stream whose numbers are packed.
func TestPutStreamPacks(t *testing.T) {
	want := stored(t, "fp8+fp4", 1)
	s := describe(t, "fp8+fp4").Begin(Options{Strict: true})
	if err := s.PutStream("bucket", bytes.NewReader(file(t, files(t, plain(dtype.BF16, 1), hf.Ref)))); err != nil {
		t.Fatal(err)
	}
	got, _, err := taken(t, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	sameBytes(t, "packed from a stream", got, want)
}

func TestPutStreamRefuses(t *testing.T) {
	ts := files(t, stored(t, "fp8", 1), hf.Ref)
	content := file(t, ts)
	odd := slices.Clone(ts)
	odd[named(t, ts, "layers.0.attn.wkv.weight")].Type = "I8"
	header := 8 + int(binary.LittleEndian.Uint64(content))
	for _, tt := range []struct {
		name, want string
		content    []byte
	}{
		{"cut", "the stream ends after", content[:len(content)-1]},
		{"longer", "bytes follow the last tensor", append(slices.Clone(content), 0)},
		{"no bytes of tensors at all, and a wrong format", `bucket: tensor "layers.0.attn.wkv.weight": is I8[8 40]`, file(t, odd)[:header]},
		{"no file", "bucket: header is", []byte("no file at all, but text")},
	} {
		s := describe(t, "fp8").Begin(Options{Strict: true})
		if err := s.PutStream("bucket", bytes.NewReader(tt.content)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error is %v, want one with %q", tt.name, err, tt.want)
		}
		if w, err := s.End(1, Held{}); err == nil || w != nil {
			t.Errorf("%s: ended well", tt.name)
		}
	}
}

// A folder is taken up as it is loaded: whatever its scheme and formats, the bytes are those of a new engine.
func TestPutFolder(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing here runs beside anything else, and it takes long under the race detector")
	}
	for i, of := range recipes {
		for _, format := range recipes {
			dir := save(t, stored(t, of, 1), []hf.Scheme{hf.Ref, hf.Wire}[i%2])
			want := empty(t, format)
			if _, err := hf.Load(dir, want, hf.LoadOptions{Layers: len(small().Layers), Experts: small().Experts}); err != nil {
				t.Fatal(err)
			}
			s := describe(t, format).Begin(Options{})
			if _, err := s.PutFolder(dir); err != nil {
				t.Fatal(err)
			}
			got, report, err := taken(t, s, nil)
			if err != nil {
				t.Fatal(err)
			}
			sameBytes(t, of+" as "+format, got, want)
			if report.Kept != 0 || report.Tensors == 0 {
				t.Errorf("%s as %s: %v", of, format, report)
			}
		}
	}
}

func TestPutFolderRefuses(t *testing.T) {
	s := describe(t, "bf16").Begin(Options{})
	if _, err := s.PutFolder(t.TempDir()); err == nil {
		t.Error("an empty folder was taken up")
	}
	if _, err := s.End(1, Held{}); err == nil {
		t.Error("and ended well")
	}
	ts := files(t, stored(t, "bf16", 1), hf.Ref)
	s = describe(t, "bf16").Begin(Options{})
	if err := s.Put(ts[:3]); err != nil {
		t.Fatal(err)
	}
	if _, err := s.PutFolder(save(t, stored(t, "bf16", 1), hf.Ref)); err == nil || !strings.Contains(err.Error(), "nothing may come before it") {
		t.Errorf("behind a bucket: %v", err)
	}
}

// flatten lays tensors end to end, in either generation's form.
func flatten(ts []rl.Tensor, unit int) (buffer []byte, list []Flat) {
	for _, x := range ts {
		lo := len(buffer)
		buffer = append(buffer, x.Data...)
		list = append(list, Flat{x.Name, x.Type, x.Shape, lo / unit, len(buffer) / unit, (len(buffer) - lo) / unit})
	}
	return buffer, list
}

// Both generations of flattened buckets, and tensors at odd addresses.
func TestFlattened(t *testing.T) {
	want := stored(t, "fp8+fp4", 1)
	ts := files(t, want, hf.Wire)
	ts = append(ts, rl.Tensor{Name: "a.stranger", Type: "uint8", Shape: []int{1}, Data: []byte{9}})
	slices.SortFunc(ts, func(a, b rl.Tensor) int { return strings.Compare(a.Name, b.Name) })
	buffer, list := flatten(ts, 1)
	got, err := Flattened(buffer, "torch.uint8", list)
	if err != nil {
		t.Fatal(err)
	}
	s := describe(t, "fp8+fp4").Begin(Options{})
	if err := s.Put(got); err != nil {
		t.Fatal(err)
	}
	params, _, err := taken(t, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	sameBytes(t, "bytes", params, want)

	// Numbers to be packed, at an odd address.
	from := files(t, plain(dtype.BF16, 1), hf.Wire)
	buffer, list = flatten(append([]rl.Tensor{ts[0]}, from...), 1)
	if got, err = Flattened(buffer, "uint8", list); err != nil {
		t.Fatal(err)
	}
	s = describe(t, "fp8+fp4").Begin(Options{})
	if err := s.Put(got); err != nil {
		t.Fatal(err)
	}
	if params, _, err = taken(t, s, nil); err != nil {
		t.Fatal(err)
	}
	sameBytes(t, "packed from odd addresses", params, want)

	byType := map[string][]rl.Tensor{}
	for _, x := range files(t, stored(t, "bf16", 1), hf.Wire) {
		byType[x.Type] = append(byType[x.Type], x)
	}
	s = describe(t, "bf16").Begin(Options{Strict: true})
	for name, ts := range byType {
		typ, _ := ParseType(name)
		buffer, list := flatten(ts, typ.Bits()/8)
		got, err := Flattened(buffer, name, list)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Put(got); err != nil {
			t.Fatal(err)
		}
	}
	if params, _, err = taken(t, s, nil); err != nil {
		t.Fatal(err)
	}
	sameBytes(t, "elements", params, stored(t, "bf16", 1))
}

func TestFlattenedRefuses(t *testing.T) {
	good := []Flat{{"a", "bfloat16", []int{2}, 0, 2, 2}, {"b", "bfloat16", []int{1}, 2, 3, 1}}
	for _, tt := range []struct {
		name, format string
		edit         func(l []Flat)
		want         string
	}{
		{"no format", "float3", nil, `dtype is "float3"`},
		{"half bytes", "F4", nil, `dtype is "F4"`},
		{"a gap", "bfloat16", func(l []Flat) { l[1].Start = 3 }, `tensor "b": begins at 3, want 2`},
		{"an overlap", "bfloat16", func(l []Flat) { l[1].Start = 1 }, `tensor "b": begins at 1, want 2`},
		{"before the start", "bfloat16", func(l []Flat) { l[0].Start = -1 }, `begins at -1, want 0`},
		{"behind the end", "bfloat16", func(l []Flat) { l[1].End = 1 << 60 }, `tensor "b": ends at 1152921504606846976, want 2 to 3`},
		{"backwards", "bfloat16", func(l []Flat) { l[0].End = -2 }, `tensor "a": ends at -2, want 0 to 3`},
		{"another count", "bfloat16", func(l []Flat) { l[0].Count = 3 }, `tensor "a": numel is 3, but it lies at 0 to 2`},
		{"another format", "bfloat16", func(l []Flat) { l[0].Type = "float16" }, `tensor "a": is float16 in a bucket of BF16`},
		{"too long", "uint8", nil, "its tensors end at byte 3, the buffer at byte 6"},
	} {
		list := slices.Clone(good)
		if tt.edit != nil {
			tt.edit(list)
		}
		if got, err := Flattened(make([]byte, 6), tt.format, list); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, %v, want %q", tt.name, got, err, tt.want)
		}
	}
	if _, err := Listed([]string{"a"}, nil, nil); err == nil || !strings.Contains(err.Error(), "1 names, 0 dtypes and 0 shapes") {
		t.Errorf("lists of several lengths: %v", err)
	}
	list, err := Listed([]string{"a", "b"}, []string{"torch.uint8", "float32"}, [][]int{{3}, {2, 2}})
	if err != nil || list[1].Start != 3 || list[1].End != 19 {
		t.Errorf("listed are %v, %v", list, err)
	}
}

// Whatever is said of a buffer: an error, or tensors that fill it.
func FuzzFlattened(f *testing.F) {
	f.Add([]byte("123456"), "bfloat16", "a", 0, 2, 2, 2, 3, 1)
	f.Add([]byte("123456"), "uint8", "a", 0, 2, 2, 2, 6, 4)
	f.Fuzz(func(t *testing.T, buffer []byte, format, name string, a, b, n, c, d, m int) {
		got, err := Flattened(buffer, format, []Flat{{name, format, []int{n}, a, b, n}, {"z", "uint8", []int{m}, c, d, m}})
		if err != nil {
			return
		}
		if total := len(got[0].Data) + len(got[1].Data); total != len(buffer) {
			t.Errorf("%d of %d bytes", total, len(buffer))
		}
	})
}

// Whatever comes, a session refuses it or ends in a version whose bytes are those that were sent: nothing panics.
func FuzzPut(f *testing.F) {
	live := stored(f, "fp8+fp4", 1)
	ts := files(f, live, hf.Ref)
	m := describe(f, "fp8+fp4")
	f.Add(uint64(1), "layers.0.attn.wkv.weight", "uint8", 8, 40, 10)
	f.Add(uint64(2), "model.layers.1.mlp.experts.gate_up_proj", "I8", 780, 20, 3)
	f.Fuzz(func(t *testing.T, seed uint64, name, format string, rows, cols, bytes int) {
		r := rand.New(rand.NewPCG(seed, 1))
		bucket := slices.Clone(ts)
		r.Shuffle(len(bucket), func(i, j int) { bucket[i], bucket[j] = bucket[j], bucket[i] })
		bucket = bucket[:r.IntN(len(bucket)+1)]
		bucket = append(bucket, rl.Tensor{Name: name, Type: format, Shape: []int{rows, cols}, Data: make([]byte, max(0, min(bytes, 1<<16)))})
		s := m.Begin(Options{Strict: r.IntN(2) == 0})
		if err := s.Put(bucket); err != nil {
			return
		}
		_, _, _ = taken(t, s, live)
	})
}

// Whatever a stream holds, it is refused or taken up: nothing panics, and nothing is made that was not announced.
func FuzzPutStream(f *testing.F) {
	ts := files(f, stored(f, "fp8+fp4", 1), hf.Ref)
	m := describe(f, "fp8+fp4")
	f.Add(file(f, ts[:1]))
	f.Add(file(f, ts[len(ts)-2:]))
	f.Fuzz(func(t *testing.T, content []byte) {
		s := m.Begin(Options{})
		if err := s.PutStream("body", bytes.NewReader(content)); err != nil {
			if w, err := s.End(1, Held{}); err == nil || w != nil {
				t.Errorf("a refused stream ends in %v", w)
			}
			return
		}
		if r := s.Report(); r.Bytes > int64(len(content)) {
			t.Errorf("%v of %d bytes", r, len(content))
		}
	})
}
