package weightsync

import (
	"fmt"
	"slices"

	"furlong/rl"
)

// Part returns version v of which only those tensors travel that have memory. The others are those of a base version, known by their digests: all lists
// what the version consists of, and of the base held the digests of all.
func Part(v rl.Version, all []Tensor, base rl.Version, held Sums) (rl.Weights, error) {
	sent := slices.DeleteFunc(slices.Clone(all), func(t Tensor) bool { return t.Mem == nil })
	digest := map[string]rl.Digest{}
	for _, s := range slices.Concat(held, sums(sent, nil)) {
		digest[s.Name] = s.Source
	}
	m := &Manifest{Version: v, Recipe: Recipe(all), Groups: Groups(all), Base: &Base{base, held.State()}, Tensors: make([]Entry, len(all))}
	w := &version{v: v, ts: all, base: m.Base, ranges: make([][]span, len(all)), man: m}
	for i, t := range all {
		n, err := t.Info.bytes()
		d, ok := digest[t.Name]
		switch {
		case err != nil:
			return nil, err
		case !ok:
			return nil, fmt.Errorf("%s does not come, and is not among the %d tensors of version %v", t.Name, len(held), base)
		}
		come := len(t.Mem)
		if m.Tensors[i] = (Entry{Info: t.Info, Bytes: n, Digest: d, Sent: &come}); come > 0 {
			w.ranges[i] = []span{{0, come}}
		}
	}
	m.State = m.sums().State()
	return w, nil
}
