package weightsync

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"furlong/rl"
)

// A Manifest says what a version consists of.
type Manifest struct {
	Version rl.Version `json:"version"`
	Recipe  string     `json:"recipe"`         // the formats in words
	State   rl.Digest  `json:"state"`          // of all tensors, Sums.State
	Base    *Base      `json:"base,omitempty"` // set in a delta
	Tensors []Entry    `json:"tensors"`
	Groups  [][]string `json:"groups"` // tensors that become visible together only
}

// A Base is the version that a delta builds on.
type Base struct {
	Version rl.Version `json:"version"`
	State   rl.Digest  `json:"state"`
}

// An Entry is a tensor of a manifest.
type Entry struct {
	Info
	Bytes  int       `json:"bytes"`
	Digest rl.Digest `json:"digest"` // of the whole tensor in this version
	Sent   *int      `json:"sent,omitempty"`
}

// sent returns how many bytes come; the others are the base's.
func (e *Entry) sent() int {
	if e.Sent == nil {
		return e.Bytes
	}
	return *e.Sent
}

const (
	manifestMagic = "FWM1"
	manifestHead  = 4 + 4 + 8 + 16
	maxManifest   = 1 << 28
	maxTensors    = 1 << 20
)

// Encode returns m as it travels: magic, zeros, length, digest, and JSON in one form only.
func (m *Manifest) Encode() ([]byte, error) {
	body, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	out := make([]byte, manifestHead, manifestHead+len(body))
	copy(out, manifestMagic)
	binary.LittleEndian.PutUint64(out[8:], uint64(len(body)))
	d := Digest(body)
	copy(out[16:], d[:])
	return append(out, body...), nil
}

// manifestLength checks the first bytes of a manifest and returns the length of what follows them.
func manifestLength(head []byte) (int, error) {
	switch n := binary.LittleEndian.Uint64(head[8:]); {
	case string(head[:4]) != manifestMagic || binary.LittleEndian.Uint32(head[4:]) != 0:
		return 0, fmt.Errorf("manifest: begins with %q, want %q", head[:8], manifestMagic+"\x00\x00\x00\x00")
	case n > maxManifest:
		return 0, fmt.Errorf("manifest: length is %d bytes, want at most %d", n, maxManifest)
	default:
		return int(n), nil
	}
}

// ParseManifest returns what Encode wrote, and refuses what could not be a version.
func ParseManifest(b []byte) (*Manifest, error) {
	if len(b) < manifestHead {
		return nil, fmt.Errorf("manifest: %d bytes, want at least %d", len(b), manifestHead)
	}
	n, err := manifestLength(b)
	if err != nil {
		return nil, err
	}
	body := b[manifestHead:]
	if len(body) != n {
		return nil, fmt.Errorf("manifest: %d bytes follow, want %d", len(body), n)
	}
	if got, want := Digest(body), rl.Digest(b[16:manifestHead]); got != want {
		return nil, fmt.Errorf("manifest: digest is %v, want %v", got, want)
	}
	return decodeManifest(body)
}

// decodeManifest reads JSON that is exactly what Encode makes of its content: no key twice, none unknown, no other spelling.
func decodeManifest(body []byte) (*Manifest, error) {
	m := &Manifest{}
	if err := json.Unmarshal(body, m); err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	again, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	if !bytes.Equal(again, body) {
		return nil, fmt.Errorf("manifest: not in the one form it has (a key unknown, missing, twice or out of order)")
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	return m, nil
}

// check reports what is wrong with m in itself.
func (m *Manifest) check() error {
	if m.Version == 0 {
		return fmt.Errorf("version 0 is no version")
	}
	if n := len(m.Tensors); n == 0 || n > maxTensors {
		return fmt.Errorf("%d tensors, want 1 to %d", n, maxTensors)
	}
	known := make(map[string]bool, len(m.Tensors))
	for i := range m.Tensors {
		e := &m.Tensors[i]
		if err := m.checkEntry(e); err != nil {
			return err
		}
		if known[e.Name] {
			return fmt.Errorf("%s is listed twice", e.Name)
		}
		known[e.Name] = true
	}
	if got := m.sums().State(); got != m.State {
		return fmt.Errorf("digest of all tensors is %v, want %v", m.State, got)
	}
	return m.checkGroups(known)
}

func (m *Manifest) checkEntry(e *Entry) error {
	n, err := e.Info.bytes()
	switch {
	case err != nil:
		return err
	case n != e.Bytes:
		return fmt.Errorf("%s: %d bytes are said to hold %s%v, want %d", e.Name, e.Bytes, e.Type, e.Shape, n)
	case (m.Base != nil) != (e.Sent != nil):
		return fmt.Errorf("%s: a delta says how much of a tensor it sends, and nothing else does", e.Name)
	case e.sent() < 0 || e.sent() > n:
		return fmt.Errorf("%s: %d bytes are to come, want 0 to %d", e.Name, e.sent(), n)
	}
	return nil
}

// checkGroups wants each tensor in one group at most, and every member there.
func (m *Manifest) checkGroups(known map[string]bool) error {
	placed := map[string]bool{}
	for _, g := range m.Groups {
		if len(g) < 2 {
			return fmt.Errorf("group %v has %d members, want 2 or more", g, len(g))
		}
		for _, name := range g {
			switch {
			case !known[name]:
				return fmt.Errorf("%s is not listed, but its group %v is", name, g)
			case placed[name]:
				return fmt.Errorf("%s is in two groups", name)
			}
			placed[name] = true
		}
	}
	return nil
}

// sums returns the digests that m lists.
func (m *Manifest) sums() Sums {
	s := make(Sums, len(m.Tensors))
	for i, e := range m.Tensors {
		s[i] = Sum{Info: e.Info, Source: e.Digest}
	}
	slices.SortFunc(s, func(a, b Sum) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// Sums returns the digests of the version, without layouts.
func (m *Manifest) Sums() Sums { return m.sums() }

// Bytes returns how many bytes come.
func (m *Manifest) Bytes() int {
	n := 0
	for i := range m.Tensors {
		n += m.Tensors[i].sent()
	}
	return n
}
