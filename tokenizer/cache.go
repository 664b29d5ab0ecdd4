package tokenizer

import (
	"hash/maphash"
	"strings"
	"sync/atomic"
)

const (
	cacheSlots   = 1 << 16
	cacheLongest = 64 // bytes of a word that is worth keeping
)

// A wordCache remembers the ids of words. It is a table of fixed size in which a word has one place and a new one
// drives out the old: so memory is bounded (tens of megabytes when full), and readers need no lock.
type wordCache struct {
	seed  maphash.Seed
	slots []atomic.Pointer[wordIDs]
}

// A wordIDs is never changed once it is in a cache.
type wordIDs struct {
	word string
	ids  []int32
}

func newWordCache() *wordCache {
	return &wordCache{seed: maphash.MakeSeed(), slots: make([]atomic.Pointer[wordIDs], cacheSlots)}
}

func (c *wordCache) slot(word string) *atomic.Pointer[wordIDs] {
	return &c.slots[maphash.String(c.seed, word)%cacheSlots]
}

// put stores copies: the word is part of a text that shall not be kept.
func (c *wordCache) put(slot *atomic.Pointer[wordIDs], word string, ids []int32) {
	slot.Store(&wordIDs{word: strings.Clone(word), ids: append([]int32(nil), ids...)})
}
