package pull

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"

	"furlong/checkpoint"
	"furlong/checkpoint/safetensors"
	"furlong/dtype"
	"furlong/tensor"
)

// A publisher is a trainer: its tensors, and where it puts their versions.
type publisher struct {
	t       testing.TB
	dir     string
	version int
	now     map[string]*tensor.Tensor
	r       *rand.Rand
}

func begin(t testing.TB) (p *publisher, base string) {
	p = &publisher{t: t, dir: filepath.Join(t.TempDir(), "source"), now: map[string]*tensor.Tensor{}, r: rand.New(rand.NewPCG(1, 2))}
	for i, shape := range [][]int{{3, 5}, {40}, {}, {0, 4}, {128, 9}} {
		x := tensor.New([]dtype.Type{dtype.BF16, dtype.U8, dtype.F32, dtype.E4M3, dtype.E8M0}[i], shape...)
		p.noise(x.Mem)
		p.now[fmt.Sprint("tensor", i)] = x
	}
	base = filepath.Join(t.TempDir(), "base")
	p.whole(base, 100)
	return p, base
}

func (p *publisher) noise(b []byte) {
	for i := range b {
		b[i] = byte(p.r.Uint32())
	}
}

// step changes some tensors, a few bytes or all.
func (p *publisher) step() {
	for i, name := range slices.Sorted(maps.Keys(p.now)) {
		switch x := p.now[name]; {
		case i%2 == p.version%2 || len(x.Mem) == 0:
		case i == 1:
			p.noise(x.Mem)
		default:
			x.Mem[p.r.IntN(len(x.Mem))]++
		}
	}
	p.version++
}

// whole writes a checkpoint.
func (p *publisher) whole(dir string, shard int64) {
	p.t.Helper()
	p.write(dir, p.now, shard, nil)
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(fmt.Sprintf(`{"version": %d}`, p.version)), 0o666); err != nil {
		p.t.Fatal(err)
	}
}

func (p *publisher) write(dir string, ts map[string]*tensor.Tensor, shard int64, meta map[string]string) {
	p.t.Helper()
	var list []checkpoint.Entry
	for _, name := range slices.Sorted(maps.Keys(ts)) {
		list = append(list, checkpoint.Entry{Name: name, Info: checkpoint.InfoOf(ts[name])})
	}
	sink, err := safetensors.CreateDir(dir, list, meta, shard)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, e := range list {
		if err := sink.Write(e.Name, ts[e.Name]); err != nil {
			p.t.Fatal(err)
		}
	}
	if err := sink.Close(); err != nil {
		p.t.Fatal(err)
	}
}

func (p *publisher) at(v int) string { return Request{Source: p.dir}.published(v) }

// delta steps on and writes what changed.
func (p *publisher) delta(encoding, sum string) {
	p.t.Helper()
	old := map[string][]byte{}
	for name, x := range p.now {
		old[name] = bytes.Clone(x.Mem)
	}
	p.step()
	blobs, sums := map[string]*tensor.Tensor{}, map[string]string{}
	for name, x := range p.now {
		if bytes.Equal(x.Mem, old[name]) {
			continue
		}
		blob := compress(p.t, difference(encoding, old[name], x.Mem))
		blobs[name] = &tensor.Tensor{Type: dtype.U8, Shape: []int{len(blob)}, Mem: blob}
		sums[name] = checksums[sum](x.Mem)
	}
	p.shard(blobs, sums, map[string]any{
		"version": fmt.Sprintf("%06d", p.version), "base_version": fmt.Sprintf("%06d", p.version-1), "delta_encoding": encoding,
		"compression_format": "zstd", "checksum_format": sum,
	})
}

// shard writes a delta as trainers do: one file and an index.
func (p *publisher) shard(blobs map[string]*tensor.Tensor, sums map[string]string, meta map[string]any) {
	p.t.Helper()
	dir, file := p.at(p.version), "model-00000-of-00001.safetensors"
	if err := os.MkdirAll(dir, 0o777); err != nil {
		p.t.Fatal(err)
	}
	where := map[string]string{}
	if len(blobs) > 0 {
		var list []checkpoint.Entry
		for _, name := range slices.Sorted(maps.Keys(blobs)) {
			list = append(list, checkpoint.Entry{Name: name, Info: checkpoint.InfoOf(blobs[name])})
			where[name] = file
		}
		w, err := safetensors.Create(filepath.Join(dir, file), list, sums)
		if err != nil {
			p.t.Fatal(err)
		}
		for name, x := range blobs {
			if err := w.Write(name, x); err != nil {
				p.t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			p.t.Fatal(err)
		}
	}
	raw, err := json.Marshal(map[string]any{"metadata": meta, "weight_map": where})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, indexName), raw, 0o666)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

func difference(encoding string, old, fresh []byte) []byte {
	if encoding == "xor" {
		out := bytes.Clone(fresh)
		for i := range out {
			out[i] ^= old[i]
		}
		return out
	}
	var positions, values []byte
	for i := range fresh {
		if fresh[i] != old[i] {
			positions, values = binary.LittleEndian.AppendUint32(positions, uint32(i)), append(values, fresh[i])
		}
	}
	return slices.Concat(binary.LittleEndian.AppendUint32(nil, uint32(len(values))), positions, values)
}

func compress(t testing.TB, b []byte) []byte {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return z.EncodeAll(b, nil)
}

// contents returns the files of a folder, without what pulls note in it.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(b)
	}
	return all
}

// tensors returns the bytes of a checkpoint.
func tensors(t testing.TB, dir string) map[string]string {
	t.Helper()
	src, err := safetensors.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	all := map[string]string{}
	for _, name := range src.Names() {
		x, err := src.Tensor(name)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = string(x.Mem)
	}
	return all
}

func (p *publisher) bytes() map[string]string {
	all := map[string]string{}
	for name, x := range p.now {
		all[name] = string(x.Mem)
	}
	return all
}

// published writes versions 1 (xor), 2 (overwrite), 3 (whole), 4 (xor, blake3) and 5 (nothing changed), and returns each one's bytes.
func published(t testing.TB) (p *publisher, base string, want []map[string]string) {
	p, base = begin(t)
	note := func() { want = append(want, p.bytes()) }
	note()
	p.delta("xor", "xxh3-128")
	note()
	p.delta("overwrite", "adler32")
	note()
	p.step()
	p.whole(p.at(3), 0)
	note()
	p.delta("xor", "blake3")
	note()
	p.version++
	p.shard(nil, nil, map[string]any{"version": 5, "base_version": 4, "delta_encoding": "xor", "compression_format": "zstd", "checksum_format": "blake3"})
	note()
	return p, base, want
}

// By whatever way a version is reached, the folder holds its bytes.
func TestPull(t *testing.T) {
	p, base, want := published(t)
	for _, tt := range []struct {
		name string
		way  []int
		says string // of the last
	}{
		{"the base", []int{0}, "copied version 0, took up 0 deltas that changed 0 tensors (0 bytes), version 0 is held"},
		{"one delta", []int{0, 1}, "from version 0, took up 1 deltas"},
		{"two at once", []int{2}, "copied version 0, took up 2 deltas"},
		{"a whole one", []int{3}, "copied version 3, took up 0 deltas"},
		{"two, then the whole one", []int{2, 3}, "copied version 3, took up 0 deltas"},
		{"from a whole one", []int{1, 5}, "copied version 3, took up 2 deltas"},
		{"twice", []int{2, 2}, "version 2 is held already"},
		{"one that changes nothing", []int{4, 5}, "from version 4, took up 1 deltas that changed 0 tensors (0 bytes), version 5 is held"},
		{"back to the base", []int{4, 0}, "copied version 0"},
		{"an older one", []int{4, 2}, "version 4 is held already"},
	} {
		local := filepath.Join(t.TempDir(), "local")
		var res Result
		var err error
		for _, v := range tt.way {
			if res, err = Pull(t.Context(), Request{local, base, p.dir, v}); err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
		}
		if !maps.Equal(tensors(t, local), want[res.To]) || !strings.HasPrefix(res.String(), tt.says) {
			t.Errorf("%s: %v; want %s", tt.name, res, tt.says)
		}
		if v, err := Applied(local); err != nil || v != res.To {
			t.Errorf("%s: version %d is noted, %v, want %d", tt.name, v, err, res.To)
		}
		if c := contents(t, local)["config.json"]; c != fmt.Sprintf(`{"version": %d}`, map[bool]int{true: 3}[res.To >= 3]) {
			t.Errorf("%s: config is %s", tt.name, c)
		}
	}
}

// A delta that is wrong anywhere changes nothing, and says which tensor it is.
func TestPullRefuses(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(p *publisher, dir string)
		want  string
	}{
		{"a checksum", func(p *publisher, dir string) {
			p.edit(dir, "tensor0", func(_ []byte, s string) ([]byte, string) { return nil, "x" + s[1:] })
		}, `tensor "tensor0": checksum is`},
		{"no checksum", func(p *publisher, dir string) {
			p.edit(dir, "tensor0", func([]byte, string) ([]byte, string) { return nil, "" })
		}, `tensor "tensor0": has no checksum`},
		{"bytes that are no frame", func(p *publisher, dir string) {
			p.edit(dir, "tensor0", func(b []byte, s string) ([]byte, string) { return []byte("no frame"), s })
		}, `tensor "tensor0": its delta does not decompress`},
		{"too few bytes", func(p *publisher, dir string) {
			p.edit(dir, "tensor0", func(b []byte, s string) ([]byte, string) { return compress(p.t, make([]byte, 3)), s })
		}, `its delta is 3 bytes, want 30`},
		{"far too many bytes", func(p *publisher, dir string) {
			p.edit(dir, "tensor0", func(b []byte, s string) ([]byte, string) { return compress(p.t, make([]byte, 1<<24)), s })
		}, `decompresses to 16777216 bytes, want at most 30`},
		{"an unknown tensor", func(p *publisher, dir string) { p.rename(dir, "tensor0", "tensorx") }, `tensor "tensorx": is not in the checkpoint that it changes`},
		{"a file is missing", func(p *publisher, dir string) { p.remove(dir, "model-00000-of-00001.safetensors") }, "no such file"},
		{"an index is missing", func(p *publisher, dir string) { p.remove(dir, indexName) }, "has no model.safetensors.index.json, and is no checkpoint in one file"},
		{"a file beside", func(p *publisher, dir string) { p.copy(dir, "model-00000-of-00001.safetensors", "more.safetensors") }, "is in two files"},
		{"a link", func(p *publisher, dir string) { p.link(dir, "model-00000-of-00001.safetensors") }, "is no plain file"},
		{"another base", func(p *publisher, dir string) { p.index(dir, `"base_version":"000001"`, `"base_version":"000000"`) }, "says that it is version 2 over version 0, want 2 over 1"},
		{"no number", func(p *publisher, dir string) { p.index(dir, `"base_version":"000001"`, `"base_version":"-1"`) }, `base_version is "-1", want a number`},
		{"another encoding", func(p *publisher, dir string) { p.index(dir, `:"xor"`, `:"add"`) }, `delta_encoding is "add", want xor or overwrite`},
		{"another compression", func(p *publisher, dir string) { p.index(dir, `:"zstd"`, `:"lz4"`) }, `compression_format is "lz4", want zstd`},
		{"another checksum", func(p *publisher, dir string) { p.index(dir, `:"xxh3-128"`, `:"md5"`) }, `checksum_format is "md5"`},
		{"no JSON", func(p *publisher, dir string) { p.index(dir, `{`, `[`) }, indexName},
		{"a way out", func(p *publisher, dir string) { p.index(dir, `:"model-0`, `:"../model-0`) }, "want the name of a file beside the index"},
		{"no version", func(p *publisher, dir string) { p.remove(dir, "") }, "a version is missing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, base := begin(t)
			p.delta("xor", "xxh3-128")
			local := filepath.Join(t.TempDir(), "local")
			if _, err := Pull(t.Context(), Request{local, base, p.dir, 1}); err != nil {
				t.Fatal(err)
			}
			before := contents(t, local)
			p.step() // so that tensor0 changes
			p.version--
			p.delta("xor", "xxh3-128")
			p.version = 2
			tt.spoil(p, p.at(2))
			res, err := Pull(t.Context(), Request{local, base, p.dir, 2})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want one with %q", err, tt.want)
			}
			if v, err := Applied(local); err != nil || v != 1 || res.To != 1 || !maps.Equal(contents(t, local), before) {
				t.Errorf("version %d is held, %v, result %v; want version 1 as it was", v, err, res)
			}
		})
	}
}

// edit changes a blob of a delta and its checksum.
func (p *publisher) edit(dir, name string, f func([]byte, string) ([]byte, string)) {
	p.t.Helper()
	s, err := openShards(dir)
	if err != nil {
		p.t.Fatal(err)
	}
	defer s.close() //nolint:errcheck // of a test
	blobs, sums := map[string]*tensor.Tensor{}, s.files[0].Metadata()
	for n := range s.of {
		x, err := s.files[0].Tensor(n)
		if err != nil {
			p.t.Fatal(err)
		}
		blobs[n] = x.Clone()
	}
	b, sum := f(blobs[name].Mem, sums[name])
	if b != nil {
		blobs[name] = &tensor.Tensor{Type: dtype.U8, Shape: []int{len(b)}, Mem: b}
	}
	if sums[name] = sum; sum == "" {
		delete(sums, name)
	}
	p.shard(blobs, sums, p.meta(dir))
}

func (p *publisher) meta(dir string) map[string]any {
	raw, err := os.ReadFile(filepath.Join(dir, indexName))
	var index struct {
		Metadata map[string]any `json:"metadata"`
	}
	if err == nil {
		err = json.Unmarshal(raw, &index)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return index.Metadata
}

func (p *publisher) rename(dir, from, to string) {
	s, err := openShards(dir)
	if err != nil {
		p.t.Fatal(err)
	}
	defer s.close() //nolint:errcheck // of a test
	x, err := s.files[0].Tensor(from)
	if err != nil {
		p.t.Fatal(err)
	}
	p.shard(map[string]*tensor.Tensor{to: x.Clone()}, map[string]string{to: "x"}, p.meta(dir))
}

func (p *publisher) remove(dir, name string) {
	if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *publisher) copy(dir, from, to string) {
	if err := copyFile(filepath.Join(dir, to), filepath.Join(dir, from)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *publisher) link(dir, name string) {
	elsewhere := filepath.Join(p.t.TempDir(), name)
	if err := os.Rename(filepath.Join(dir, name), elsewhere); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(dir, name)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *publisher) index(dir, old, fresh string) {
	path := filepath.Join(dir, indexName)
	raw, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}
	if !strings.Contains(string(raw), old) {
		p.t.Fatalf("%s has no %s", raw, old)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(raw), old, fresh, 1)), 0o666); err != nil {
		p.t.Fatal(err)
	}
}

// Who was killed while writing begins again at a whole version.
func TestPullAfterADeath(t *testing.T) {
	p, base, want := published(t)
	local := filepath.Join(t.TempDir(), "local")
	if _, err := Pull(t.Context(), Request{local, base, p.dir, 1}); err != nil {
		t.Fatal(err)
	}
	if err := forget(local); err != nil {
		t.Fatal(err)
	}
	for name := range contents(t, local) {
		if err := os.Truncate(filepath.Join(local, name), 9); err != nil {
			t.Fatal(err)
		}
	}
	if res, err := Pull(t.Context(), Request{local, base, p.dir, 2}); err != nil || res.Copied != 0 || !maps.Equal(tensors(t, local), want[2]) {
		t.Errorf("%v, %v", res, err)
	}
}

// All of a machine may pull at once.
func TestPullAtOnce(t *testing.T) {
	p, base, want := published(t)
	local := filepath.Join(t.TempDir(), "local")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := Pull(t.Context(), Request{local, base, p.dir, 2}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if !maps.Equal(tensors(t, local), want[2]) {
		t.Error("the folder holds something else")
	}
}

func TestPullWaitsNoLongerThanItsContext(t *testing.T) {
	_, base := begin(t)
	r := Request{Local: filepath.Join(t.TempDir(), "local"), Base: base}
	unlock, err := r.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Pull(ctx, r); err == nil || !strings.Contains(err.Error(), "somebody else pulls") {
		t.Errorf("error is %v", err)
	}
}

// Folders that are not a pull's own are not overwritten.
func TestPullSparesFolders(t *testing.T) {
	p, base := begin(t)
	p.delta("xor", "xxh3-128")
	mine := t.TempDir()
	if err := os.WriteFile(filepath.Join(mine, "thesis.tex"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		r    Request
		want string
	}{
		{Request{mine, base, p.dir, 1}, "thesis.tex, which no pull put there"},
		{Request{base, base, p.dir, 1}, "is also what is read from"},
		{Request{p.dir, base, p.dir, 1}, "is also what is read from"},
		{Request{p.at(1), base, p.dir, 1}, "is also what is read from"},
		{Request{"", base, p.dir, 1}, "the local folder has no name"},
		{Request{filepath.Join(mine, "x"), base, "", 1}, "the folder of published versions has no name"},
		{Request{filepath.Join(mine, "x"), base, p.dir, -1}, "version is -1, want 0 to 999999"},
		{Request{filepath.Join(mine, "y"), "", p.dir, 1}, "which has no folder here"},
	} {
		if _, err := Pull(t.Context(), tt.r); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: error is %v, want one with %q", tt.r, err, tt.want)
		}
	}
	if _, err := os.Stat(filepath.Join(mine, "thesis.tex")); err != nil {
		t.Error(err)
	}
}

// Known answers, as the tools of those names print them.
func TestChecksums(t *testing.T) {
	for name, want := range map[string]string{
		"xxh3-128": "06b05ab6733a618578af5f94892f3950",
		"blake3":   "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85",
		"adler32":  "024d0127",
	} {
		if got := checksums[name]([]byte("abc")); got != want {
			t.Errorf("%s of abc is %s, want %s", name, got, want)
		}
	}
}

// Whatever a delta holds, it is an error or bytes of the old ones' number, and what was encoded is decoded.
func FuzzFresh(f *testing.F) {
	f.Add([]byte("old bytes"), []byte("new bytes"), []byte{1, 0, 0, 0, 2, 0, 0, 0, 9}, true)
	f.Fuzz(func(t *testing.T, old, fresh, blob []byte, over bool) {
		d := &delta{overwrite: over}
		for _, b := range [][]byte{blob, compress(t, blob)} {
			if got, err := d.fresh(old, b); err == nil && len(got) != len(old) {
				t.Errorf("%d bytes, want %d", len(got), len(old))
			}
		}
		n := min(len(old), len(fresh))
		encoding := map[bool]string{true: "overwrite", false: "xor"}[over]
		if got, err := d.fresh(old[:n], compress(t, difference(encoding, old[:n], fresh[:n]))); err != nil || !bytes.Equal(got, fresh[:n]) {
			t.Errorf("% x, %v, want % x", got, err, fresh[:n])
		}
	})
}
