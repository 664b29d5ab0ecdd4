package weightsync

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"furlong/rl"
)

func manifestFor(t testing.TB) *Manifest {
	t.Helper()
	b, err := Of(rl.NewVersion(1, 5), Flatten(params(1)), Everything).Manifest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m, err := ParseManifest(b)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestManifestRoundTrip(t *testing.T) {
	ps := params(1)
	m := manifestFor(t)
	flat := Flatten(ps)
	if m.Version != rl.NewVersion(1, 5) || m.State != SumsOf(ps).State() || len(m.Tensors) != len(flat) {
		t.Errorf("manifest is of version %v with %d tensors and state %v", m.Version, len(m.Tensors), m.State)
	}
	if want := "BF16 F32 F4/1x32~ F8_E4M3/128x128 F8_E4M3/128x128~ F8_E8M0 I32"; m.Recipe != want {
		t.Errorf("recipe is %q, want %q", m.Recipe, want)
	}
	total := 0
	for i, e := range m.Tensors {
		if e.Name != flat[i].Name || e.Bytes != len(flat[i].Mem) || e.Digest != Digest(flat[i].Mem) || e.sent() != e.Bytes {
			t.Errorf("entry %d is %+v", i, e)
		}
		total += e.Bytes
	}
	if m.Bytes() != total {
		t.Errorf("%d bytes come, want %d", m.Bytes(), total)
	}
	b, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseManifest(b)
	if err != nil || !reflect.DeepEqual(again, m) {
		t.Errorf("again: %+v, %v", again, err)
	}
	if err := m.Sums().Diff(SumsOf(ps)); err != nil {
		t.Error(err)
	}
}

// Any byte of a manifest that changes, and any byte that is missing, shows.
func TestManifestDamage(t *testing.T) {
	b, err := manifestFor(t).Encode()
	if err != nil {
		t.Fatal(err)
	}
	for i := range b {
		b[i] ^= 0x20
		if _, err := ParseManifest(b); err == nil || !strings.HasPrefix(err.Error(), "manifest: ") {
			t.Errorf("byte %d changed: error is %v", i, err)
		}
		b[i] ^= 0x20
		if _, err := ParseManifest(b[:i]); err == nil {
			t.Errorf("%d bytes of %d went through", i, len(b))
		}
	}
	if _, err := ParseManifest(append(b, 0)); err == nil {
		t.Error("a byte too many went through")
	}
}

// What a sender could say with a right digest, and must not.
func TestManifestRefuses(t *testing.T) {
	entry := func(f func(*Entry)) func(*Manifest) { return func(m *Manifest) { f(&m.Tensors[1]) } }
	const codes = "model.layers.0.self_attn.q_a_proj.weight"
	for _, tt := range []struct {
		name string
		edit func(*Manifest)
		want string
	}{
		{"version 0", func(m *Manifest) { m.Version = 0 }, "version 0 is no version"},
		{"no tensors", func(m *Manifest) { m.Tensors = nil }, "0 tensors, want 1 to 1048576"},
		{"a tensor twice", func(m *Manifest) { m.Tensors = append(m.Tensors, m.Tensors[1]) }, codes + " is listed twice"},
		{"state", func(m *Manifest) { m.State[0]++ }, "digest of all tensors is "},
		{"an entry's digest", entry(func(e *Entry) { e.Digest[0]++ }), "digest of all tensors is "},
		{"no name", entry(func(e *Entry) { e.Name = "" }), "tensor name has 0 bytes"},
		{"a long name", entry(func(e *Entry) { e.Name = strings.Repeat("x", 2000) }), "tensor name has 2000 bytes"},
		{"no format", entry(func(e *Entry) { e.Type = "F9" }), codes + `: format is "F9", which is none`},
		{"a negative axis", entry(func(e *Entry) { e.Shape = []int{-1, -18200} }), codes + ": shape is [-1 -18200], which nothing can have"},
		{"axes whose product overflows", entry(func(e *Entry) { e.Shape = []int{1 << 40, 1 << 40} }), "which nothing can have"},
		{"too many axes", entry(func(e *Entry) { e.Shape = make([]int, 9) }), codes + ": 9 axes, want at most 8"},
		{"another size", entry(func(e *Entry) { e.Bytes-- }), codes + ": 18199 bytes are said to hold F8_E4M3[130 140], want 18200"},
		{"part of no delta", entry(func(e *Entry) { n := 3; e.Sent = &n }), codes + ": a delta says how much"},
		{"a delta that does not say how much", func(m *Manifest) { m.Base = &Base{} }, "model.embed_tokens.weight: a delta says how much"},
		{"a delta of too much", func(m *Manifest) {
			n := 5000
			m.Base, m.Tensors[0].Sent = &Base{}, &n
		}, "model.embed_tokens.weight: 5000 bytes are to come, want 0 to 2640"},
		{"a lonely group", func(m *Manifest) { m.Groups = [][]string{{codes}} }, "group [" + codes + "] has 1 members"},
		{"a group with a stranger", func(m *Manifest) { m.Groups[0][0] = "x" }, "x is not listed, but its group"},
		{"two groups of one", func(m *Manifest) { m.Groups = append(m.Groups, m.Groups[0]) }, codes + " is in two groups"},
	} {
		m := manifestFor(t)
		tt.edit(m)
		b, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseManifest(b); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error is %v, want one with %q", tt.name, err, tt.want)
		}
	}
}

// sealed returns a body with a head that fits.
func sealed(body []byte) []byte {
	out := make([]byte, manifestHead)
	copy(out, manifestMagic)
	binary.LittleEndian.PutUint64(out[8:], uint64(len(body)))
	d := Digest(body)
	copy(out[16:], d[:])
	return append(out, body...)
}

// A manifest has one form: nothing in it is read by one and not by another.
func TestManifestForm(t *testing.T) {
	body, err := json.Marshal(manifestFor(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ParseManifest(sealed(body)); err != nil {
		t.Fatal(err)
	}
	for name, edit := range map[string][2]string{
		"a key unknown":     {`{"version"`, `{"more":1,"version"`},
		"a key twice":       {`{"version"`, `{"version":3,"version"`},
		"space":             {`{"version"`, `{ "version"`},
		"a key in capitals": {`{"version"`, `{"VERSION"`},
		"a number":          {`"bytes":2640`, `"bytes":2640.0`},
		"a string":          {`"bytes":2640`, `"bytes":"2640"`},
		"a digest's case":   {`"state":"`, `"state":"A`},
		"no JSON":           {`{"version"`, `{{`},
		"more behind":       {`{"version"`, `{}{"version"`},
	} {
		if _, err := ParseManifest(sealed(bytes.Replace(body, []byte(edit[0]), []byte(edit[1]), 1))); err == nil {
			t.Errorf("%s went through", name)
		}
	}
}

func FuzzManifest(f *testing.F) {
	m := manifestFor(f)
	b, err := m.Encode()
	if err != nil {
		f.Fatal(err)
	}
	body := b[manifestHead:]
	f.Add(body)
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"version":1,"recipe":"","state":"00000000000000000000000000000000","tensors":[{"name":"a","type":"F4","shape":[9223372036854775807,2],"bytes":-1,"digest":""}],"groups":null}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := ParseManifest(sealed(body))
		if err != nil {
			return
		}
		again, err := m.Encode()
		if err != nil || !bytes.Equal(again, sealed(body)) {
			t.Errorf("encodes to other bytes, %v", err)
		}
		if _, err := Begin(again, Flatten(params(1)), Held{}); err == nil && !slices.Equal(m.Tensors[0].Shape, []int{40, 33}) {
			t.Errorf("a manifest of other tensors was taken")
		}
	})
}
