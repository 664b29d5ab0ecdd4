package safetensors

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"furlong/checkpoint"
	"furlong/dtype"
)

// image returns a file with the given header and n bytes after it, 1, 2, 3, ...
func image(header string, n int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	b = append(b, header...)
	for i := range n {
		b = append(b, byte(i+1))
	}
	return b
}

func put(t *testing.T, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.safetensors")
	if err := os.WriteFile(path, content, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// readers are both ways of seeing a file; what holds for one holds for the other.
var readers = map[string]func(*os.File, int64) (region, error){
	"default": newRegion,
	"read":    func(f *os.File, size int64) (region, error) { return readRegion{f}, nil },
}

const two = `{"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2,1],"data_offsets":[4,12]},"a":{"shape":[4],"dtype":"U8","data_offsets":[0,4]}}`

func TestOpen(t *testing.T) {
	for name, see := range readers {
		t.Run(name, func(t *testing.T) {
			f, err := open(put(t, image(two, 12)), see)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if got, want := f.Names(), []string{"b", "a"}; !slices.Equal(got, want) {
				t.Errorf("Names() = %v, want %v as in the header", got, want)
			}
			if got := f.Metadata()["format"]; got != "pt" {
				t.Errorf("metadata format is %q, want pt", got)
			}
			if i, ok := f.Info("b"); !ok || i.String() != "F32[2 1]" {
				t.Errorf("Info(b) = %v, %v, want F32[2 1]", i, ok)
			}
			if _, ok := f.Info("c"); ok {
				t.Error("Info(c) is there")
			}
			a, err := f.Tensor("a")
			if err != nil || !slices.Equal(a.Mem, []byte{1, 2, 3, 4}) {
				t.Errorf("Tensor(a) = %v, %v", a, err)
			}
			if _, err := f.Tensor("c"); err == nil || !strings.Contains(err.Error(), `tensor "c"`) {
				t.Errorf("Tensor(c): error is %v, want one that names it", err)
			}
		})
	}
}

// Other writers put tensors at addresses that their format can't have.
func TestMisalignedTensorReads(t *testing.T) {
	h := `{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}}`
	for name, see := range readers {
		f, err := open(put(t, image(h, 5)), see)
		if err != nil {
			t.Fatal(name, err)
		}
		b, err := f.Tensor("b")
		if err != nil {
			t.Fatal(name, err)
		}
		if got, want := math.Float32bits(b.F32()[0]), uint32(0x05040302); got != want {
			t.Errorf("%s: bits are %#x, want %#x", name, got, want)
		}
		f.Close()
	}
}

func TestEmptyTensorsAndScalars(t *testing.T) {
	h := `{"none":{"dtype":"F32","shape":[3,0],"data_offsets":[0,0]},"one":{"dtype":"F32","shape":[],"data_offsets":[0,4]},"end":{"dtype":"I64","shape":[0],"data_offsets":[4,4]}} `
	for name, see := range readers {
		f, err := open(put(t, image(h, 4)), see)
		if err != nil {
			t.Fatal(name, err)
		}
		for tensor, want := range map[string]int{"none": 0, "one": 1, "end": 0} {
			x, err := f.Tensor(tensor)
			if err != nil || x.Len() != want {
				t.Errorf("%s: Tensor(%s) = %v, %v, want %d elements", name, tensor, x, err, want)
			}
		}
		f.Close()
	}
}

func TestNoTensors(t *testing.T) {
	f, err := Open(put(t, image(`{}`, 0)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if n := len(f.Names()); n != 0 {
		t.Errorf("%d names, want 0", n)
	}
}

// one is a header of one tensor with the given description.
func one(description string) string { return `{"w":{` + description + `}}` }

func TestHostileFiles(t *testing.T) {
	long := image(`{}`, 0)
	long[0] = 200
	huge := image(`{}`, 0)
	huge[7] = 0x80
	for _, tt := range []struct {
		name    string
		content []byte
		want    string
	}{
		{"empty file", nil, "is 0 bytes"},
		{"seven bytes", make([]byte, 7), "is 7 bytes"},
		{"header beyond the file", long, "header is 200 bytes, the file has 2"},
		{"header of 2^63 bytes", huge, "want at most 100000000"},
		{"no header", make([]byte, 8), "does not begin with {"},
		{"not UTF-8", image("{\"\xff\":1}", 0), "not UTF-8"},
		{"an array", image(`[]`, 0), "does not begin with {"},
		{"space first", image(` {}`, 0), "does not begin with {"},
		{"unfinished", image(`{"w":`, 0), "the end"},
		{"unfinished string", image(`{"w`, 0), "the end inside a string"},
		{"text after", image(`{}x`, 0), "want the end"},
		{"trailing comma", image(`{"v":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},}`, 1), `want '"'`},
		{"control character", image("{\"a\nb\":{}}", 0), "control character"},
		{"broken escape", image(`{"\q":{}}`, 0), "broken escape"},
		{"half a surrogate", image(`{"\ud800":{}}`, 0), "broken escape"},
		{"same name twice", image(`{"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"w":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, 2), `"w" comes twice`},
		{"same name twice, escaped", image(`{"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"\u0077":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, 2), `"w" comes twice`},
		{"same key twice", image(one(`"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]`), 1), `"dtype" comes twice`},
		{"metadata twice", image(`{"__metadata__":{},"__metadata__":{}}`, 0), "comes twice"},
		{"metadata is a list", image(`{"__metadata__":[]}`, 0), `want '{'`},
		{"metadata holds a number", image(`{"__metadata__":{"a":1}}`, 0), `"a" is not a string`},
		{"tensor is a number", image(`{"w":1}`, 0), `want '{'`},
		{"no dtype", image(one(`"shape":[1],"data_offsets":[0,1]`), 1), "dtype is missing"},
		{"no shape", image(one(`"dtype":"U8","data_offsets":[0,1]`), 1), "shape is missing"},
		{"no offsets", image(one(`"dtype":"U8","shape":[1]`), 1), "data_offsets is missing"},
		{"unknown key", image(one(`"dtype":"U8","shape":[1],"data_offsets":[0,1],"stride":[1]`), 1), `"stride" is no key`},
		{"unknown dtype", image(one(`"dtype":"F3","shape":[1],"data_offsets":[0,1]`), 1), `dtype "F3" is not known`},
		{"dtype is a number", image(one(`"dtype":1,"shape":[1],"data_offsets":[0,1]`), 1), `want '"'`},
		{"one offset", image(one(`"dtype":"U8","shape":[1],"data_offsets":[0]`), 1), "has 1 numbers"},
		{"three offsets", image(one(`"dtype":"U8","shape":[1],"data_offsets":[0,1,1]`), 1), "has 3 numbers"},
		{"negative axis", image(one(`"dtype":"U8","shape":[-1],"data_offsets":[0,1]`), 1), "negative"},
		{"negative offset", image(one(`"dtype":"U8","shape":[1],"data_offsets":[-1,0]`), 1), "negative"},
		{"fraction", image(one(`"dtype":"U8","shape":[1.0],"data_offsets":[0,1]`), 1), `is '.'`},
		{"exponent", image(one(`"dtype":"U8","shape":[1e0],"data_offsets":[0,1]`), 1), `is 'e'`},
		{"leading zero", image(one(`"dtype":"U8","shape":[01],"data_offsets":[0,1]`), 1), "leading zero"},
		{"axis beyond int64", image(one(`"dtype":"U8","shape":[9223372036854775808],"data_offsets":[0,1]`), 1), "too large"},
		{"product overflows to 0", image(one(`"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]`), 0), "can be counted"},
		{"product overflows beside a 0", image(one(`"dtype":"U8","shape":[4294967296,4294967296,0],"data_offsets":[0,0]`), 0), "can be counted"},
		{"bytes overflow", image(one(`"dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0]`), 0), "can be counted"},
		{"bytes do not match", image(one(`"dtype":"F32","shape":[2],"data_offsets":[0,4]`), 4), "want 8 for F32[2]"},
		{"ends before it begins", image(one(`"dtype":"U8","shape":[1],"data_offsets":[0,0]`), 0), "want 1 for U8[1]"},
		{"half a byte", image(one(`"dtype":"F4","shape":[3],"data_offsets":[0,1]`), 1), "whole byte"},
		{"gap at the start", image(one(`"dtype":"U8","shape":[1],"data_offsets":[1,2]`), 2), "gap from 0"},
		{"gap", image(`{"v":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"w":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}}`, 3), "gap from 1"},
		{"overlap", image(`{"v":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"w":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}`, 3), "inside another tensor that ends at 2"},
		{"shared bytes", image(`{"v":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"w":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}`, 2), "inside another"},
		{"empty tensor inside another", image(`{"v":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"w":{"dtype":"U8","shape":[0],"data_offsets":[1,1]}}`, 2), "inside another"},
		{"truncated", image(one(`"dtype":"U8","shape":[4],"data_offsets":[0,4]`), 3), "tensors end at byte 4, the data at byte 3"},
		{"bytes after the end", image(one(`"dtype":"U8","shape":[4],"data_offsets":[0,4]`), 5), "tensors end at byte 4, the data at byte 5"},
		{"bytes without tensors", image(`{}`, 1), "tensors end at byte 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := put(t, tt.content)
			for name, see := range readers {
				f, err := open(path, see)
				if err == nil {
					f.Close()
					t.Fatalf("%s: opened, want an error with %q", name, tt.want)
				}
				if !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), path) {
					t.Errorf("%s: error is %q, want the path and %q", name, err, tt.want)
				}
				if strings.Contains(string(tt.content), `{"w":{`) && !strings.Contains(err.Error(), `"w"`) && !strings.HasPrefix(tt.want, "tensors end") {
					t.Errorf("%s: error %q does not name the tensor", name, err)
				}
			}
		})
	}
}

func TestOpenWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "none")} {
		if f, err := Open(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("Open(%s) = %v, %v, want an error that names it", path, f, err)
		}
	}
}

// A header of 100,000 tensors is what a large mixture of experts has.
func TestManyTensors(t *testing.T) {
	var h bytes.Buffer
	h.WriteByte('{')
	for i := range 100_000 {
		if i > 0 {
			h.WriteByte(',')
		}
		s := span{checkpoint.Info{Type: dtype.U8, Shape: []int{1, 1}}, i, i + 1}
		s.encode(&h, fmt.Sprintf("model.layers.1.mlp.experts.%d.gate_proj.weight", i))
	}
	h.WriteByte('}')
	f, err := Open(put(t, image(h.String(), 100_000)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if n := len(f.Names()); n != 100_000 {
		t.Errorf("%d names, want 100000", n)
	}
}
