package safetensors

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// drain reads a whole stream and returns its tensors' bytes by name.
func drain(r io.Reader) (map[string][]byte, error) {
	s, err := NewStream("stream", r)
	if err != nil {
		return nil, err
	}
	got := map[string][]byte{}
	for _, e := range s.Entries() {
		if e.Bytes() > 1<<20 {
			return nil, io.ErrUnexpectedEOF // no test sends as much, whatever a header says
		}
		b := make([]byte, e.Bytes())
		if err := s.Read(b); err != nil {
			return nil, err
		}
		got[e.Name] = b
	}
	return got, s.End()
}

// However a stream is cut into reads, its tensors are the file's, in the order of their bytes.
func TestStream(t *testing.T) {
	content := image(two, 12)
	for name, r := range map[string]io.Reader{
		"at once":           bytes.NewReader(content),
		"byte by byte":      iotest.OneByteReader(bytes.NewReader(content)),
		"data with the end": iotest.DataErrReader(bytes.NewReader(content)),
	} {
		got, err := drain(r)
		if err != nil || string(got["a"]) != "\x01\x02\x03\x04" || string(got["b"]) != "\x05\x06\x07\x08\x09\x0a\x0b\x0c" {
			t.Errorf("%s: % x, %v", name, got, err)
		}
	}
	s, err := NewStream("stream", bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	if e := s.Entries(); e[0].Name != "a" || e[1].Name != "b" || s.Metadata()["format"] != "pt" {
		t.Errorf("entries are %v, metadata %v", e, s.Metadata())
	}
	if err := s.Read(make([]byte, 5)); err == nil || !strings.Contains(err.Error(), `"a": room for 5 bytes, want 4`) {
		t.Errorf("room of the wrong size: %v", err)
	}
	if err := s.End(); err == nil || !strings.Contains(err.Error(), "0 of 2 tensors were read") {
		t.Errorf("an end too early: %v", err)
	}
}

// A stream that is cut anywhere, or goes on, is refused.
func TestStreamCut(t *testing.T) {
	content := image(two, 12)
	for n := range content {
		if _, err := drain(bytes.NewReader(content[:n])); err == nil || !strings.HasPrefix(err.Error(), "stream: ") {
			t.Errorf("%d of %d bytes: error is %v", n, len(content), err)
		}
	}
	if _, err := drain(bytes.NewReader(append(content, 0))); err == nil || !strings.Contains(err.Error(), "bytes follow the last tensor") {
		t.Errorf("a byte more: error is %v", err)
	}
	if _, err := drain(iotest.TimeoutReader(iotest.OneByteReader(bytes.NewReader(content)))); err == nil {
		t.Error("a reader that fails was read")
	}
}

func TestWhere(t *testing.T) {
	content := image(two, 12)
	f, err := Parse("x", content)
	if err != nil {
		t.Fatal(err)
	}
	at, n, ok := f.Where("b")
	if !ok || n != 8 || string(content[at:at+8]) != "\x05\x06\x07\x08\x09\x0a\x0b\x0c" {
		t.Errorf("b lies at %d, %d bytes, %v", at, n, ok)
	}
	if _, _, ok := f.Where("c"); ok {
		t.Error("c lies somewhere")
	}
}

// A stream is accepted exactly if the same bytes are as a file, and holds the same.
func FuzzStream(f *testing.F) {
	f.Add(image(two, 12))
	f.Add(image(two, 13))
	f.Add(image(`{}`, 0))
	f.Add(image(one(`"dtype":"F4","shape":[2,3],"data_offsets":[0,3]`), 3))
	f.Fuzz(func(t *testing.T, content []byte) {
		file, err := Parse("file", content)
		got, errStream := drain(bytes.NewReader(content))
		if (err == nil) != (errStream == nil) {
			t.Fatalf("as a file: %v, as a stream: %v", err, errStream)
		}
		if err != nil {
			return
		}
		for _, name := range file.Names() {
			x, err := file.Tensor(name)
			if err != nil || !bytes.Equal(x.Mem, got[name]) {
				t.Errorf("%q: % x, %v, want % x", name, got[name], err, x.Mem)
			}
		}
	})
}
