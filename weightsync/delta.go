package weightsync

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"furlong/rl"
)

// A Kept version is a copy of all its bytes, against which a later one can be sent as a delta.
type Kept struct {
	base Base
	ts   []Tensor
}

// Keep copies tensors as version v.
func Keep(v rl.Version, ts []Tensor) *Kept {
	k := &Kept{base: Base{v, sums(ts, nil).State()}, ts: slices.Clone(ts)}
	each(len(ts), func(i int) { k.ts[i].Mem = slices.Clone(ts[i].Mem) })
	return k
}

// Delta returns tensors as version v, of which only the ranges of bytes travel that differ from a kept version of the same tensors in the same order.
func Delta(v rl.Version, ts []Tensor, since *Kept, bucket int) (rl.Weights, error) {
	if len(ts) != len(since.ts) {
		return nil, fmt.Errorf("delta: %d tensors, want the %d of version %v", len(ts), len(since.ts), since.base.Version)
	}
	for i, t := range ts {
		if old := since.ts[i]; t.Name != old.Name || t.Info.differs(old.Info) != "" {
			return nil, fmt.Errorf("delta: %s is %s%v, want %s %s%v as in version %v", t.Name, t.Type, t.Shape, old.Name, old.Type, old.Shape, since.base.Version)
		}
	}
	w := &version{v: v, ts: ts, bucket: bucket, base: &since.base, ranges: make([][]span, len(ts))}
	each(len(ts), func(i int) { w.ranges[i] = differences(ts[i].Mem, since.ts[i].Mem) })
	return w, nil
}

// near is how many equal bytes between two differences are sent along: about what a chunk's frame takes.
const near = 128

// differences returns the ranges in which a and b, of one length, differ, those near to each other joined.
func differences(a, b []byte) (out []span) {
	for at := 0; at < len(a); {
		lo := at + equalPrefix(a[at:], b[at:])
		if lo == len(a) {
			return out
		}
		hi := lo + 1
		for hi < len(a) && a[hi] != b[hi] {
			hi++
		}
		if n := len(out); n > 0 && lo-out[n-1].hi <= near {
			out[n-1].hi = hi
		} else {
			out = append(out, span{lo, hi})
		}
		at = hi
	}
	return out
}

// equalPrefix returns how many bytes a and b begin with alike.
func equalPrefix(a, b []byte) int {
	i := 0
	for i+8 <= len(a) && binary.LittleEndian.Uint64(a[i:]) == binary.LittleEndian.Uint64(b[i:]) {
		i += 8
	}
	for i < len(a) && a[i] == b[i] {
		i++
	}
	return i
}

// Chain returns the folders below root that lead from what is held to a version, in the order in which they are to be taken up: the fewest. A chain
// with a link missing is an error that names what it builds on.
func Chain(root string, held Held, to rl.Version) ([]string, error) {
	var path []string
	for at := to; ; {
		if at == held.Version {
			break // it may be another state of that name: the receiver compares
		}
		dir := filepath.Join(root, DirName(at))
		raw, err := os.ReadFile(filepath.Join(dir, manifestFile))
		if errors.Is(err, fs.ErrNotExist) && at != to {
			return nil, fmt.Errorf("%s: version %v is missing, on which %s builds", root, at, filepath.Base(path[len(path)-1]))
		}
		if err != nil {
			return nil, err
		}
		m, err := ParseManifest(raw)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		if path = append(path, dir); m.Base == nil {
			break
		}
		if slices.Contains(path, filepath.Join(root, DirName(m.Base.Version))) {
			return nil, fmt.Errorf("%s: version %v builds on itself", root, m.Base.Version)
		}
		at = m.Base.Version
	}
	slices.Reverse(path)
	return path, nil
}

// Versions returns the versions below root, oldest first.
func Versions(root string) ([]rl.Version, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, err
	}
	var all []rl.Version
	for _, e := range entries {
		if v, ok := parseDirName(e.Name()); ok && e.IsDir() {
			all = append(all, v)
		}
	}
	slices.SortFunc(all, func(a, b rl.Version) int { return a.Count() - b.Count() })
	return all, nil
}

// parseDirName returns the version of which a folder has the name.
func parseDirName(name string) (rl.Version, bool) {
	text, ok := strings.CutPrefix(name, dirPrefix)
	if !ok {
		return 0, false
	}
	var epoch, n int
	if _, err := fmt.Sscanf(text, "%d.%d", &epoch, &n); err != nil {
		epoch = 0
		if _, err := fmt.Sscanf(text, "%d", &n); err != nil {
			return 0, false
		}
	}
	v := rl.NewVersion(epoch, n)
	return v, DirName(v) == name
}
