package run

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"

	"furlong/metrics/disk"
	"furlong/rl"
)

// Experts is how many tokens each expert got in one cycle.
type Experts struct {
	Cycle     int
	Attempt   int
	Version   rl.Version
	Sides     int // 1: rollout; 2: rollout, trainer
	Layers    int
	Experts   int       // of one layer
	Tokens    []uint32  // [side, layer, expert]
	Agreement []float32 // [layer] share of choices that the sides have in common; NaN where not measured
}

const (
	expertsMagic = "FURLEXP1"
	expertsHead  = 32
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// WriteExperts writes the file of a cycle's expert loads; one of an earlier attempt is replaced. The attempt is filled in.
func (d *Dir) WriteExperts(e Experts) error {
	path := filepath.Join(d.path, ExpertsFile(e.Cycle))
	if len(e.Tokens) != e.Sides*e.Layers*e.Experts || len(e.Agreement) != e.Layers {
		return fmt.Errorf("%s: %d counts and %d agreements, want %d x %d x %d and %d", path, len(e.Tokens), len(e.Agreement), e.Sides, e.Layers, e.Experts, e.Layers)
	}
	e.Attempt = d.holder.Attempt
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return disk.ReplaceBytes(path, e.encode())
}

func (e Experts) encode() []byte {
	b := []byte(expertsMagic)
	for _, v := range []int{e.Cycle, e.Attempt, int(e.Version), e.Sides, e.Layers, e.Experts} {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	for _, n := range e.Tokens {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	for _, a := range e.Agreement {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(a))
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// ReadExperts reads a file of expert loads.
func ReadExperts(path string) (Experts, error) {
	b, err := disk.ReadFile(path)
	if err != nil {
		return Experts{}, err
	}
	e, err := decodeExperts(b)
	if err != nil {
		return Experts{}, fmt.Errorf("%s: %w", path, err)
	}
	return e, nil
}

func decodeExperts(b []byte) (Experts, error) {
	if len(b) < expertsHead+4 || string(b[:8]) != expertsMagic {
		return Experts{}, fmt.Errorf("is %d bytes and begins with %q, want at least %d and %q", len(b), b[:min(8, len(b))], expertsHead+4, expertsMagic)
	}
	u := func(at int) uint32 { return binary.LittleEndian.Uint32(b[at:]) }
	sides, layers, experts := u(20), u(24), u(28)
	// The product of three such numbers may overflow; a float says well enough that it is too large.
	counts := float64(sides) * float64(layers) * float64(experts)
	if want := expertsHead + 4*(counts+float64(layers)) + 4; float64(len(b)) != want {
		return Experts{}, fmt.Errorf("is %d bytes, want %.0f for %d x %d x %d counts", len(b), want, sides, layers, experts)
	}
	if got, want := crc32.Checksum(b[:len(b)-4], castagnoli), u(len(b)-4); got != want {
		return Experts{}, fmt.Errorf("has checksum %08x, want %08x", got, want)
	}
	e := Experts{Cycle: int(u(8)), Attempt: int(u(12)), Version: rl.Version(u(16)), Sides: int(sides), Layers: int(layers), Experts: int(experts)}
	at := expertsHead
	for range int(counts) {
		e.Tokens = append(e.Tokens, u(at))
		at += 4
	}
	for range e.Layers {
		e.Agreement = append(e.Agreement, math.Float32frombits(u(at)))
		at += 4
	}
	return e, nil
}
