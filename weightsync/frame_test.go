package weightsync

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"

	"furlong/rl"
)

// someChunks are a few frames.
func someChunks() []rl.Chunk {
	var cs []rl.Chunk
	for i, n := range []int{5, 0, 300} {
		c := rl.Chunk{Version: 7, Name: fmt.Sprint("tensor.", i), Type: "BF16", Shape: []int{3, n, 1}[:i+1], Offset: 10 * i, Data: bytes.Repeat([]byte{byte(i + 1)}, n)}
		c.Digest = Digest(c.Data)
		cs = append(cs, c)
	}
	return cs
}

func framed(t testing.TB, cs []rl.Chunk) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := writeBucket(&out, cs); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestChunkRoundTrip(t *testing.T) {
	want := someChunks()
	got, err := parseBucket(framed(t, want))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

// Any change of a head or a header shows before what it says is believed. The bytes themselves are for the session to check.
func TestFrameDamage(t *testing.T) {
	good := framed(t, someChunks()[:1])
	head := len(good) - 5
	for i := range head {
		bad := bytes.Clone(good)
		bad[i] ^= 1
		if got, err := parseBucket(bad); err == nil && i < frameHead-16 && (i < 16 || i >= 32) {
			t.Errorf("byte %d changed: got %+v", i, got)
		} else if err == nil {
			t.Errorf("byte %d changed and went through", i)
		}
	}
	for n := range len(good) - 1 {
		if _, err := parseBucket(good[:n+1]); err == nil {
			t.Errorf("%d bytes of %d went through", n+1, len(good))
		}
	}
}

// sign makes a frame of hostile content with right digests.
func frameOf(header []byte, payload uint64, data []byte) []byte {
	out := appendFrame(nil, chunkMagic, header, 0, Digest(data))
	binary.LittleEndian.PutUint64(out[8:], payload)
	seal := Digest(append(bytes.Clone(out[:32]), header...))
	copy(out[32:], seal[:])
	return append(out, data...)
}

func TestHostileHeaders(t *testing.T) {
	header := func(version uint32, offset uint64, name, typ string, axes byte, shape ...uint64) []byte {
		var h []byte
		h = binary.LittleEndian.AppendUint32(h, version)
		h = binary.LittleEndian.AppendUint64(h, offset)
		h = binary.LittleEndian.AppendUint16(h, uint16(len(name)))
		h = append(h, byte(len(typ)), axes)
		h = append(append(h, name...), typ...)
		for _, s := range shape {
			h = binary.LittleEndian.AppendUint64(h, s)
		}
		return h
	}
	good := header(1, 0, "a", "F32", 1, 1)
	for _, tt := range []struct {
		name string
		in   []byte
		want string
	}{
		{"a payload of exabytes", frameOf(good, math.MaxUint64, nil), "bytes follow, want at most"},
		{"a payload just too large", frameOf(good, MaxChunk+1, nil), "bytes follow, want at most"},
		{"a payload that does not come", frameOf(good, MaxChunk, []byte("abc")), "a: the file ends after 3 of a chunk's 268435456 bytes"},
		{"a header of gigabytes", func() []byte { f := frameOf(good, 4, nil); binary.LittleEndian.PutUint32(f[4:], 1<<31); return f }(), "bytes follow, want at most"},
		{"no header", frameOf(nil, 0, nil), "header has 0 bytes"},
		{"fewer axes than said", frameOf(header(1, 0, "a", "F32", 3, 1), 0, nil), "want 28 for a name of 1, a format of 3, and 3 axes"},
		{"more axes than said", frameOf(header(1, 0, "a", "F32", 1, 1, 2), 0, nil), "header has 20 bytes behind its sizes, want 12"},
		{"a hundred axes", frameOf(header(1, 0, "a", "F32", 100, make([]uint64, 100)...), 0, nil), "100 axes"},
		{"no name", frameOf(header(1, 0, "", "F32", 0), 0, nil), "a name of 0"},
		{"a name that is no text", frameOf(header(1, 0, "\xff\xfe", "F32", 0), 0, nil), "want UTF-8"},
		{"an offset beyond everything", frameOf(header(1, math.MaxUint64, "a", "F32", 0), 0, nil), "offset 18446744073709551615"},
		{"an axis beyond everything", frameOf(header(1, 0, "a", "F32", 1, math.MaxUint64), 0, nil), "a: axis 0 of a chunk's shape is 18446744073709551615"},
		{"another frame", appendFrame(nil, endMagic, nil, 0, rl.Digest{}), "begins with FWE1, want FWC1"},
		{"no frame", []byte(strings.Repeat("GET / HTTP/1.1\r\n", 9)), `begins with "GET "`},
	} {
		if _, err := parseBucket(tt.in); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error is %v, want one with %q", tt.name, err, tt.want)
		}
	}
}

// Memory follows what comes, not what is announced.
func TestPayloadGrowsAsItComes(t *testing.T) {
	got, err := readPayload(bytes.NewReader(make([]byte, 100)), nil, MaxChunk)
	if !errors.Is(err, io.ErrUnexpectedEOF) || cap(got) > 2*readStep {
		t.Errorf("took %d bytes for 100, %v", cap(got), err)
	}
	long := bytes.Repeat([]byte("0123456789abcdef"), 1<<18)
	got, err = readPayload(bytes.NewReader(long), make([]byte, 10), len(long))
	if err != nil || !bytes.Equal(got, long) {
		t.Errorf("%d bytes came, %v", len(got), err)
	}
	if got, err = readPayload(bytes.NewReader(long), got, 7); err != nil || string(got) != "0123456" {
		t.Errorf("into larger memory: %q, %v", got, err)
	}
}

func TestAnswer(t *testing.T) {
	want := answer{"no", rl.Attestation{Version: 3, State: Digest(nil), Canary: []float32{-1.5, -0.1}, Tensors: 4, Bytes: 9, Cold: true}}
	b, err := appendAnswer(nil, want)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := readAnswer(bytes.NewReader(b)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	for i := range b {
		b[i] ^= 1
		if _, err := readAnswer(bytes.NewReader(b)); err == nil {
			t.Errorf("byte %d changed and went through", i)
		}
		b[i] ^= 1
	}
	if _, err := readAnswer(bytes.NewReader(framed(t, someChunks()))); err == nil {
		t.Error("a chunk went through as an answer")
	}
}

func FuzzChunks(f *testing.F) {
	f.Add(framed(f, someChunks()))
	f.Add(frameOf(nil, 3, []byte("abc")))
	f.Fuzz(func(t *testing.T, b []byte) {
		cs, err := parseBucket(b)
		if err != nil {
			return
		}
		if again := framed(t, cs); !bytes.Equal(again, b) {
			t.Errorf("%d chunks are written as other bytes", len(cs))
		}
	})
}

// FuzzHeader seals whatever comes, so that the fuzzer gets behind the digest.
func FuzzHeader(f *testing.F) {
	b := framed(f, someChunks()[:1])
	f.Add(b[frameHead:len(b)-5], []byte("hello"))
	f.Fuzz(func(t *testing.T, header, data []byte) {
		if len(header) > maxHeader {
			return
		}
		in := frameOf(header, uint64(len(data)), data)
		cs, err := parseBucket(in)
		if err != nil {
			return
		}
		if again := framed(t, cs); !bytes.Equal(again, in) {
			t.Errorf("%+v is written as other bytes", cs)
		}
	})
}
