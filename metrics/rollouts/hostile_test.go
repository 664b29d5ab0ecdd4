package rollouts

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"furlong/checkpoint/safetensors"
	"furlong/dtype"
	"furlong/tensor"
)

// spoiled writes samples with columns changed, without checksums that would tell.
func spoiled(t testing.TB, spoil func(w *walk, about map[string]string)) string {
	t.Helper()
	w := &walk{columns: map[string]*tensor.Tensor{}}
	if err := w.lay(fullBatch(3, 2, 2)); err != nil {
		t.Fatal(err)
	}
	about := map[string]string{"format": Format, "cycle": "7"}
	spoil(w, about)
	path := filepath.Join(t.TempDir(), "bad.safetensors")
	entries, _ := w.contents()
	out, err := safetensors.Create(path, entries, about)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range w.columns {
		if err := out.Write(name, c); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// sumsOf returns the checksums of all columns but one.
func sumsOf(w *walk, but string) string {
	sums := map[string]string{}
	for name, c := range w.columns {
		if name != but {
			sums[name] = sum(c)
		}
	}
	raw, _ := json.Marshal(sums)
	return string(raw)
}

// A file that lies is refused with its name and the column.
func TestReadRefuses(t *testing.T) {
	set := func(name string, i int, v int64) func(*walk, map[string]string) {
		return func(w *walk, _ map[string]string) {
			switch c := w.columns[name]; c.Type {
			case dtype.I64:
				c.I64()[i] = v
			case dtype.I32:
				c.I32()[i] = int32(v)
			default:
				c.Mem[i] = byte(v)
			}
		}
	}
	for want, spoil := range map[string]func(*walk, map[string]string){
		`format is "other"`: func(_ *walk, m map[string]string) { m["format"] = "other" },
		`cycle is "-1"`:     func(_ *walk, m map[string]string) { m["cycle"] = "-1" },
		"prompt.group has no checksum, the others have": func(w *walk, m map[string]string) { m["crc32c"] = sumsOf(w, "prompt.group") },
		"sample.cached_tokens is missing, only its checksum": func(w *walk, m map[string]string) {
			m["crc32c"] = sumsOf(w, "")
			delete(w.columns, "sample.cached_tokens")
		},
		"crc32c: invalid character":                     func(_ *walk, m map[string]string) { m["crc32c"] = "no" },
		"sample.prompt is missing":                      func(w *walk, _ map[string]string) { delete(w.columns, "sample.prompt") },
		"response.tokens.offsets is missing":            func(w *walk, _ map[string]string) { delete(w.columns, "response.tokens.offsets") },
		"prompt.tokens is empty":                        func(w *walk, _ map[string]string) { delete(w.columns, "prompt.tokens") },
		"sample.prompt is 2, want 0 to 1":               set("sample.prompt", 1, 2),
		"sample.verdict is 4, want less than 4":         set("sample.verdict", 1, 4),
		"sample.stop is 9":                              set("sample.stop", 0, 9),
		"response.tokens.offsets must rise from 0":      set("response.tokens.offsets", 2, 1<<40),
		"prompt.text.offsets must rise from 0":          set("prompt.text.offsets", 0, -1),
		"response.loss_mask: token 1 is 7, want 0 or 1": set("response.loss_mask", 1, 7),
		"run 1 is of version -4":                        set("response.version", 1, -4),
		"entries.row_bytes: layer 1 has -1 bytes":       set("entries.row_bytes", 0, -1),
		"want windows of 1 or more":                     set("entries.rate", 0, 0),
		"experts: 3 of 200 experts in -2 layers":        set("experts.layers", 0, -2),
		"told: counts do not add up":                    set("told.top_count", 0, -1),
		"group 0 has two samples of index 0":            set("sample.index", 1, 0),
		"sampling.bias.add has 3 values, want 2": func(w *walk, _ map[string]string) {
			w.columns["sampling.bias.token.offsets"].I64()[1] = 2
		},
		"sample.reward is F32[4], want a list of F64": func(w *walk, _ map[string]string) { w.columns["sample.reward"] = tensor.New(dtype.F32, 4) },
		"sample.reward has 3 values, want 4":          func(w *walk, _ map[string]string) { w.columns["sample.reward"] = tensor.New(dtype.F64, 3) },
		"group 0 goes on after others": func(w *walk, _ map[string]string) {
			copy(w.columns["sample.prompt"].I64(), []int64{0, 1, 0, 1})
			copy(w.columns["sample.index"].I64(), []int64{0, 1, 2, 3})
		},
	} {
		path := spoiled(t, spoil)
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("got %v, want the file and %q", err, want)
		}
	}
}

// Pickles are not read, whatever is in them.
func TestReadRefusesPickles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "0.pt")
	if err := os.WriteFile(path, content(t, written(t, Rollouts{Cycle: 1})), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "is a pickle by its name") {
		t.Errorf("got %v, want a refusal", err)
	}
}

// Columns that may be left out leave their fields as a sampled one has them by default.
func TestReadWithoutColumns(t *testing.T) {
	need := map[string]bool{}
	for _, name := range []string{"prompt.group", "prompt.tokens", "sample.prompt", "sample.index", "response.tokens"} {
		need[name], need[name+offsets] = true, true
	}
	path := spoiled(t, func(w *walk, _ map[string]string) {
		maps.DeleteFunc(w.columns, func(name string, _ *tensor.Tensor) bool { return !need[name] })
		w.columns["of.others"] = tensor.New(dtype.BF16, 2, 2)
	})
	r, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	s := r.Samples[3]
	if s.Sampling.Temperature != 1 || s.Sampling.TopP != 1 || s.LogProbs != nil || s.Versions[0].Tokens != 3 || s.Verdict != 0 {
		t.Errorf("read %+v, want a plain sample", s)
	}
}

// Every damaged byte of the columns is found where there are checksums.
func TestDamageIsFound(t *testing.T) {
	raw := content(t, written(t, Rollouts{Cycle: 1, Samples: fullBatch(4, 1, 2)}))
	head := 8 + int(raw[0]) + int(raw[1])<<8
	path := filepath.Join(t.TempDir(), "damaged.safetensors")
	for at := head; at < len(raw); at += 1 + len(raw)/300 {
		bad := bytes.Clone(raw)
		bad[at] ^= 0x10
		if err := os.WriteFile(path, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("byte %d: got %v, want damage", at, err)
		}
	}
}

// A damaged byte of the head is found too, or changes nothing of the samples: no column loses its checksum unseen.
func TestDamageOfTheHead(t *testing.T) {
	raw := content(t, written(t, Rollouts{Cycle: 1, Samples: fullBatch(4, 1, 2)}))
	file, err := safetensors.Parse("whole", raw)
	if err != nil {
		t.Fatal(err)
	}
	want, err := parse(file)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for at := 8; at < 8+int(raw[0])+int(raw[1])<<8; at += 3 {
		bad := bytes.Clone(raw)
		bad[at] ^= 1
		file, err := safetensors.Parse("damaged", bad)
		if err != nil {
			continue
		}
		switch got, err := parse(file); {
		case err != nil:
			found++
		case !reflect.DeepEqual(got.Samples, want.Samples):
			t.Errorf("byte %d, in %q: other samples were read", at, bad[max(8, at-20):at+20])
		}
	}
	if found < 150 {
		t.Errorf("damage was found %d times, want more", found)
	}
}

// Whatever a file holds, it is read or refused; what is read can be written.
func FuzzRead(f *testing.F) {
	f.Add(content(f, written(f, Rollouts{Cycle: 1, Samples: fullBatch(5, 1, 1)})))
	f.Add(content(f, spoiled(f, func(*walk, map[string]string) {})))
	f.Fuzz(func(t *testing.T, raw []byte) {
		file, err := safetensors.Parse("fuzz", raw)
		if err != nil {
			return
		}
		r, err := parse(file)
		if err != nil {
			return
		}
		w := &walk{columns: map[string]*tensor.Tensor{}}
		if err := w.lay(r.Samples); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
	})
}

// Any few bytes of a file changed, it is read or refused, and nothing else.
func TestAnyBytes(t *testing.T) {
	raw := content(t, spoiled(t, func(*walk, map[string]string) {}))
	r := rand.New(rand.NewPCG(8, 8))
	read, refused := 0, 0
	for range 3000 {
		bad := bytes.Clone(raw)
		for range 1 + r.IntN(3) {
			bad[8+r.IntN(len(bad)-8)] = []byte{0, 1, 0x7f, 0x80, 0xff, byte(r.Uint32())}[r.IntN(6)]
		}
		file, err := safetensors.Parse("bad", bad)
		if err != nil {
			continue
		}
		if _, err := parse(file); err != nil {
			refused++
			continue
		}
		read++
	}
	if read == 0 || refused == 0 {
		t.Errorf("%d were read, %d refused: this tests nothing", read, refused)
	}
}
