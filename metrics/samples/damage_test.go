package samples

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"furlong/metrics/disk/disktest"
)

// bodyBytes returns a small body.
func bodyBytes(t testing.TB) []byte {
	t.Helper()
	dir := t.TempDir()
	add(t, open(t, dir, 1), batch(37, 2))
	b, err := os.ReadFile(filepath.Join(dir, Name(37, "")))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// readAll reads everything that a body holds.
func readAll(raw []byte) error {
	b, err := newBody(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		return err
	}
	for i := range b.Rows {
		if _, err := b.Sample(i); err != nil {
			return err
		}
	}
	return b.Verify()
}

func TestBodyCutAtEveryByte(t *testing.T) {
	whole := bodyBytes(t)
	if err := readAll(whole); err != nil {
		t.Fatal(err)
	}
	for n := range len(whole) {
		if readAll(whole[:n]) == nil {
			t.Errorf("a body of %d of %d bytes reads without an error", n, len(whole))
		}
	}
}

func TestBodyWithAnyByteChanged(t *testing.T) {
	whole := bodyBytes(t)
	covered := make([]bool, len(whole)) // padding is not
	b, _ := newBody(bytes.NewReader(whole), int64(len(whole)))
	header := int(binary.LittleEndian.Uint32(whole[20:]))
	for i := range prefixBytes + header {
		covered[i] = true
	}
	for _, c := range b.columns {
		for i := range c.Bytes {
			covered[b.data+c.Offset+i] = true
		}
	}
	for i := range whole {
		whole[i] ^= 0x10
		if err := readAll(whole); (err != nil) != covered[i] {
			t.Errorf("byte %d changed: %v; under a checksum: %v", i, err, covered[i])
		}
		whole[i] ^= 0x10
	}
}

// TestSampleIsCheckedAlone reads one sample of a body whose other sample is damaged.
func TestSampleIsCheckedAlone(t *testing.T) {
	whole := bodyBytes(t)
	b, err := newBody(bytes.NewReader(whole), int64(len(whole)))
	if err != nil {
		t.Fatal(err)
	}
	c, _ := b.find("token")
	whole[b.data+c.Offset+4*b.starts[perToken][1]] ^= 1
	if _, err := b.Sample(0); err != nil {
		t.Errorf("sample 0: %v", err)
	}
	if _, err := b.Sample(1); err == nil || !strings.Contains(err.Error(), "sample 1: checksum") {
		t.Errorf("sample 1: %v, want a checksum error", err)
	}
}

// reseal mends the checksums of a body whose header was replaced.
func reseal(raw, header []byte) []byte {
	p := slices.Clone(raw[:prefixBytes])
	binary.LittleEndian.PutUint32(p[20:], uint32(len(header)))
	binary.LittleEndian.PutUint32(p[24:], crc32.Checksum(header, castagnoli))
	binary.LittleEndian.PutUint32(p[28:], crc32.Checksum(p[:28], castagnoli))
	out := append(p, header...)
	for len(out)%8 != 0 {
		out = append(out, 0)
	}
	old := pad8(prefixBytes + int64(binary.LittleEndian.Uint32(raw[20:])))
	return append(out, raw[old:]...)
}

func TestHostileBodies(t *testing.T) {
	whole := bodyBytes(t)
	header := string(whole[prefixBytes : prefixBytes+binary.LittleEndian.Uint32(whole[20:])])
	if err := readAll(reseal(whole, []byte(header))); err != nil {
		t.Fatal(err)
	}
	many := slices.Clone(whole)
	binary.LittleEndian.PutUint32(many[16:], math.MaxUint32)
	tokens := slices.IndexFunc(columnsOf(t, whole), func(c column) bool { return c.Name == "token" })
	token := columnsOf(t, whole)[tokens]
	for name, raw := range map[string][]byte{
		"4 G samples":        reseal(many, []byte(header)),
		"huge column":        reseal(whole, []byte(strings.ReplaceAll(header, `"bytes":`, `"bytes":9223372036854775`))),
		"negative column":    reseal(whole, []byte(strings.ReplaceAll(header, `"bytes":`, `"bytes":-`))),
		"negative offset":    reseal(whole, []byte(strings.ReplaceAll(header, `"offset":`, `"offset":-1`))),
		"no columns":         reseal(whole, []byte(`{}`)),
		"no token column":    reseal(whole, []byte(strings.ReplaceAll(header, `"token"`, `"other"`))),
		"header not JSON":    reseal(whole, []byte(header[1:])),
		"overflowing offset": reseal(whole, []byte(strings.ReplaceAll(header, `"offset":0,`, `"offset":9223372036854775807,`))),
		"short token column": reseal(whole, []byte(strings.Replace(header, `"token","type":"u32","offset":`+num(token.Offset)+`,"bytes":`+num(token.Bytes),
			`"token","type":"u32","offset":`+num(token.Offset)+`,"bytes":`+num(token.Bytes-4), 1))),
	} {
		if used := memory(func() {
			if readAll(raw) == nil {
				t.Errorf("%s: reads without an error", name)
			}
		}); used > 1<<20 {
			t.Errorf("%s: took %d bytes to refuse a file of %d", name, used, len(raw))
		}
	}
}

func num(n int64) string { return strconv.FormatInt(n, 10) }

func columnsOf(t *testing.T, raw []byte) []column {
	b, err := newBody(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	return b.columns
}

// memory returns the bytes that f allocates.
func memory(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func FuzzBody(f *testing.F) {
	whole := bodyBytes(f)
	header := whole[prefixBytes : prefixBytes+binary.LittleEndian.Uint32(whole[20:])]
	f.Add(header, whole[len(header)+prefixBytes:])
	f.Add([]byte(`{"columns":[{"name":"row","type":"row","offset":0,"bytes":0,"crc":0}]}`), []byte{})
	f.Fuzz(func(t *testing.T, header, data []byte) {
		// The prefix is made to fit, or nothing would get past its checksum.
		raw := reseal(append(slices.Clone(whole[:16]), make([]byte, 16)...), header)
		binary.LittleEndian.PutUint32(raw[16:], 4)
		binary.LittleEndian.PutUint32(raw[28:], crc32.Checksum(raw[:28], castagnoli))
		raw = append(raw, data...)
		if used := memory(func() { readAll(raw) }); used > uint64(64*len(raw)+1<<20) {
			t.Errorf("took %d bytes to read a file of %d", used, len(raw))
		}
	})
}

func FuzzTail(f *testing.F) {
	b := appendTailHead(nil, 3)
	for _, r := range records(2, 3) {
		b = r.append(b)
	}
	f.Add(b)
	f.Add(b[:30])
	f.Add(append(b, math.MaxUint8, math.MaxUint8, math.MaxUint8, math.MaxUint8))
	f.Fuzz(func(t *testing.T, raw []byte) {
		number, records, good, ok := readTail(raw)
		if !ok {
			return
		}
		again := appendTailHead(nil, number)
		for _, r := range records {
			again = r.append(again)
		}
		if !bytes.Equal(again, raw[:good]) {
			t.Errorf("the good part of %x is written again as %x", raw[:good], again)
		}
	})
}

func FuzzChunk(f *testing.F) {
	f.Add(appendChunk(nil, 1, records(2, 3)))
	f.Add(appendChunk(nil, 0, nil))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) >= chunkHead { // let it past the checksum
			tables := min(len(raw), chunkHead+entryBytes*2+zoneBytes*int(numColumns))
			sum := crc32.Update(crc32.Checksum(raw[:28], castagnoli), castagnoli, raw[chunkHead:tables])
			binary.LittleEndian.PutUint32(raw[28:], sum)
		}
		if used := memory(func() {
			if c, err := newChunk(bytes.NewReader(raw), int64(len(raw))); err == nil {
				c.ReadRows()
			}
		}); used > uint64(64*len(raw)+1<<20) {
			t.Errorf("took %d bytes to read a chunk of %d", used, len(raw))
		}
	})
}

// TestFullDisk adds a batch while the disk has room for less and less of it. Nothing half-written may stay, and what the disk held back must be
// indexed once there is room.
func TestFullDisk(t *testing.T) {
	if disktest.Alone(t) {
		return
	}
	size := uint64(len(bodyBytes(t)))
	for _, room := range []uint64{0, 1, 100, size - 1, size} {
		dir := t.TempDir()
		w := open(t, dir, 1)
		add(t, w, batch(1, 1))
		var err error
		disktest.Full(t, room, func() { err = w.Add(batch(37, 2)) })
		if room == size {
			if err != nil {
				t.Errorf("room for %d bytes, as many as the body has: %v", room, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), Name(37, "")) {
			t.Errorf("room for %d bytes: Add = %v, want an error that names the body", room, err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*.tmp")); len(left) > 0 {
			t.Errorf("room for %d bytes: %v stayed", room, left)
		}
		if err := w.Add(batch(37, 2)); err != nil {
			t.Errorf("with room again: %v", err)
		}
		if got := keys(t, dir); !slices.Equal(got, []string{"1.1=2", "37.1=4"}) {
			t.Errorf("index has %v", got)
		}
	}
}

func TestDiskFullForTheIndex(t *testing.T) {
	if disktest.Alone(t) {
		return
	}
	dir := t.TempDir()
	w := open(t, dir, 1)
	for c := range 40 {
		add(t, w, batch(c+1, 1))
	}
	tail, body := filepath.Join(dir, "index", tailName), filepath.Join(dir, Name(41, ""))
	info, _ := os.Stat(tail)
	var err error
	disktest.Full(t, uint64(info.Size())+50, func() { err = w.Add(batch(41, 1)) })
	if err == nil || !strings.Contains(err.Error(), tailName) {
		t.Fatalf("Add = %v, want an error that names the tail", err)
	}
	if _, err := os.Stat(body); err != nil {
		t.Errorf("the body is not there: %v", err)
	}
	if now, _ := os.Stat(tail); now.Size() != info.Size() {
		t.Errorf("the tail has %d bytes, want %d as before", now.Size(), info.Size())
	}
	open(t, dir, 2)
	if got := keys(t, dir); len(got) != 41 || got[40] != "41.1=2" {
		t.Errorf("after the next start the index has %v, want cycle 41 at its end", got)
	}
}
