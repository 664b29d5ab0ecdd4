package servertest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/adler32"
	"os"
	"path/filepath"
	"slices"
)

func deltas() []Test {
	return []Test{{108, "pull_weights", "published deltas are followed to the same bytes from anywhere; a wrong checksum keeps the old version", "", weights, pullWeights}}
}

// zstd returns data as a Zstandard frame of stored blocks.
func zstd(data []byte) []byte {
	out := binary.LittleEndian.AppendUint32(nil, 0xfd2fb528)
	out = append(out, 0xa0) // one segment, its size in four bytes
	out = binary.LittleEndian.AppendUint32(out, uint32(len(data)))
	for {
		n := min(len(data), 1<<17)
		head := uint32(n) << 3 // a raw block
		if n == len(data) {
			head |= 1 // the last
		}
		out = append(out, byte(head), byte(head>>8), byte(head>>16))
		out = append(out, data[:n]...)
		if data = data[n:]; len(data) == 0 {
			return out
		}
	}
}

// xored is the delta of encoding xor.
func xored(from, to []byte) []byte {
	out := make([]byte, len(to))
	for i := range out {
		out[i] = from[i] ^ to[i]
	}
	return out
}

// overwritten is the delta of encoding overwrite: a count, positions, new bytes.
func overwritten(from, to []byte) []byte {
	var at, values []byte
	n := uint32(0)
	for i := range to {
		if from[i] != to[i] {
			at = binary.LittleEndian.AppendUint32(at, uint32(i))
			values = append(values, to[i])
			n++
		}
	}
	return slices.Concat(binary.LittleEndian.AppendUint32(nil, n), at, values)
}

// publish writes a delta as version, and returns the file that holds it.
func (c *check) publish(source string, version int, encoding string, from, to weightSet) string {
	c.Helper()
	coded, sums, files := weightSet{}, map[string]string{}, m{}
	for _, name := range to.names() {
		delta := map[string]func(from, to []byte) []byte{"xor": xored, "overwrite": overwritten}[encoding]
		blob := zstd(delta(from[name].data, to[name].data))
		coded[name] = tensor{"U8", []int{len(blob)}, blob}
		sums[name] = fmt.Sprintf("%08x", adler32.Checksum(to[name].data))
		files[name] = "model.safetensors"
	}
	dir := filepath.Join(source, fmt.Sprintf("weight_v%06d", version))
	about := m{
		"version": fmt.Sprintf("%06d", version), "base_version": fmt.Sprintf("%06d", version-1),
		"delta_encoding": encoding, "compression_format": "zstd", "checksum_format": "adler32",
	}
	c.write(filepath.Join(dir, "model.safetensors"), coded.encode(sums))
	c.write(filepath.Join(dir, "model.safetensors.index.json"), encode(m{"metadata": about, "weight_map": files}))
	return filepath.Join(dir, "model.safetensors")
}

func (c *check) write(path string, data []byte) {
	c.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		c.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		c.Fatal(err)
	}
}

func pullWeights(c *check) {
	dir, p := c.room(), c.pair(c, "bf16")
	source := filepath.Join(dir, "published")
	a, b := readWeights(c, p.A), readWeights(c, p.B)
	mixed := a.only(func(string) bool { return true })
	for i, name := range mixed.names() {
		if i%2 == 0 {
			mixed[name] = b[name]
		}
	}
	s := c.start("--model-path", p.A)
	c.publish(source, 1, "xor", a, b)
	c.publish(source, 2, "overwrite", b, mixed)
	writeModel(c, filepath.Join(source, "weight_v000003"), p.A, b)
	pull := func(local string, version int) answer {
		return s.post("/pull_weights", m{"local_checkpoint_dir": filepath.Join(dir, local), "source_dir": source, "target_version": version})
	}
	holds := func(local string, want weightSet) {
		got := readWeights(c, filepath.Join(dir, local))
		c.equal("names in "+local, got.names(), want.names())
		for name, t := range want {
			if g := got[name]; g.dtype != t.dtype || !bytes.Equal(g.data, t.data) {
				c.Fatalf("%s: %s has other bytes than were published", local, name)
			}
		}
	}
	pull("fresh", 3).succeeded()
	holds("fresh", b)
	pull("steps", 2).succeeded()
	holds("steps", mixed)
	pull("steps", 2).succeeded() // again
	holds("steps", mixed)
	pull("steps", 3).succeeded()
	holds("steps", b)
	pull("one", 1).succeeded()
	holds("one", b)

	file := c.publish(source, 4, "xor", b, a)
	w := weightSet{}
	raw, err := os.ReadFile(file)
	if err == nil {
		err = w.parse(raw)
	}
	if err != nil {
		c.Fatal(err)
	}
	wrong := map[string]string{}
	for _, name := range w.names() {
		wrong[name] = "00000000"
	}
	c.write(file, w.encode(wrong))
	pull("steps", 4).failed()
	holds("steps", b)

	s.update(filepath.Join(dir, "steps"), "3")
	got := s.impression()
	s.update(p.B, "b")
	s.like("the pulled checkpoint", got, s.impression())
	s.post("/pull_weights", m{"local_checkpoint_dir": "/nowhere/at/all", "source_dir": source, "target_version": 3}).client()
	s.post("/pull_weights", m{"local_checkpoint_dir": filepath.Join(dir, "x"), "source_dir": source, "target_version": 9}).failed()
}
