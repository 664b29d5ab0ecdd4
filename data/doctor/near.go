package doctor

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strings"
)

// A signature is the least hashes of a problem's pairs of words.
type signature [hashes]uint32

// The shape of MinHash; doc.go says what it finds.
const (
	hashes   = 32
	bands    = 8
	bandRows = hashes / bands
	agree    = 23 // of hashes: 70 %
	inBucket = 16 // problems of a bucket that each later one is compared with
)

// sign returns a problem's signature, and a hash of its numbers.
func sign(problem string) (sig signature, numbers uint64) {
	all, digits := words(problem)
	slices.Sort(digits)
	numbers = hash64(strings.Join(digits, " "))
	for i := range sig {
		sig[i] = ^uint32(0)
	}
	for i := range max(1, len(all)-1) {
		h := hash64(strings.Join(all[min(i, len(all)):min(i+2, len(all))], " "))
		for k := range sig {
			sig[k] = min(sig[k], uint32(mix(h+uint64(k)*0x9e3779b97f4a7c15)>>32))
		}
	}
	return sig, numbers
}

func hash64(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // never fails
	return mix(h.Sum64())
}

// mix spreads the bits of x: the finaliser of SplitMix64.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// near tells whether two problems are nearly the same.
func near(a, b *problem) bool {
	if a.numbers != b.numbers || a.label != b.label && a.label != 0 && b.label != 0 {
		return false
	}
	n := 0
	for k := range a.sig {
		if a.sig[k] == b.sig[k] {
			n++
		}
	}
	return n >= agree
}

// pairs calls found for problems that are nearly the same, in a fixed order: i comes before j. A pair may come several
// times.
func pairs(all []problem, found func(i, j int)) {
	type slot struct {
		key uint64
		at  uint32
	}
	slots := make([]slot, len(all))
	for b := range bands {
		for i := range all {
			h := all[i].numbers
			for _, v := range all[i].sig[b*bandRows : (b+1)*bandRows] {
				h = mix(h ^ uint64(v))
			}
			slots[i] = slot{h, uint32(i)}
		}
		slices.SortFunc(slots, func(x, y slot) int { return cmp.Or(cmp.Compare(x.key, y.key), cmp.Compare(x.at, y.at)) })
		for from := 0; from < len(slots); {
			to := from + 1
			for to < len(slots) && slots[to].key == slots[from].key {
				to++
			}
			for j := from + 1; j < to; j++ {
				for i := from; i < min(j, from+inBucket); i++ {
					if a, b := int(slots[i].at), int(slots[j].at); near(&all[a], &all[b]) {
						found(a, b)
					}
				}
			}
			from = to
		}
	}
}
