package safetensors

import (
	"maps"
	"slices"
	"testing"

	"furlong/checkpoint"
)

// Whatever a file holds, its header is an error or describes tensors that lie inside the file, and that
// writing would describe in the same way. The corpus in testdata holds headers that once mattered.
func FuzzHeader(f *testing.F) {
	f.Add(image(two, 12))
	f.Add(image(`{}`, 0))
	f.Add(image(one(`"dtype":"F4","shape":[2,3],"data_offsets":[0,3]`), 3))
	f.Fuzz(func(t *testing.T, content []byte) {
		if len(content) < lengthBytes {
			return // Open has already refused it
		}
		h, at, err := readHeader(memory(content), int64(len(content)))
		if err != nil {
			return
		}
		s := &File{header: h, data: at, region: memory(content)}
		readEveryByte(t, s, len(content)-int(at))
		describeAgain(t, s)
	})
}

func readEveryByte(t *testing.T, s *File, want int) {
	got := 0
	for _, name := range s.Names() {
		x, err := s.Tensor(name)
		if err != nil {
			t.Fatal(err)
		}
		if n := x.Type.Bytes(x.Len()); n != len(x.Mem) {
			t.Errorf("%q: %v has %d bytes, want %d", name, x, len(x.Mem), n)
		}
		got += len(x.Mem)
	}
	if got != want {
		t.Errorf("tensors have %d bytes, the file %d", got, want)
	}
}

func describeAgain(t *testing.T, s *File) {
	var entries []checkpoint.Entry
	for _, name := range s.Names() {
		i, _ := s.Info(name)
		entries = append(entries, checkpoint.Entry{Name: name, Info: i})
	}
	h, err := place(entries)
	if err != nil {
		return // a name that we read but don't write
	}
	h.metadata = s.Metadata()
	start, err := h.encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := scanHeader(start[lengthBytes:])
	if err != nil {
		t.Fatalf("our own header: %v\n%s", err, start[lengthBytes:])
	}
	if !slices.Equal(got.names, h.names) || !maps.Equal(got.metadata, h.metadata) {
		t.Errorf("names and metadata were %q %q, are %q %q", h.names, h.metadata, got.names, got.metadata)
	}
	for i, want := range h.spans {
		if x := got.spans[i]; !x.Equal(want.Info) || x.lo != want.lo || x.hi != want.hi {
			t.Errorf("%q was %v, is %v", h.names[i], want, x)
		}
	}
}
