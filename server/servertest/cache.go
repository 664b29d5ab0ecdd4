package servertest

import (
	"fmt"
	"slices"
)

func cache() []Test {
	return []Test{
		{
			50, "prefix_hit", "the same prompt twice: all whole pages before the last token are cached",
			"pages are shared to the token: all of the prompt but its last token, whatever the page size", paged, prefixHit,
		},
		{51, "eight_identical_prompts", "eight identical prompts at once: one computes, seven share", "", plain, eightIdentical},
		{52, "multi_turn", "a turn that goes on from an answer finds prompt and answer cached", "", plain, multiTurn},
		{53, "extra_key", "requests with different extra_key share nothing", "", plain, extraKey},
		{54, "flush", "after a flush nothing is cached", "", plain, flushed},
	}
}

// page returns the granularity of the prefix cache.
func (c *check) page() int { return max(c.fact("page_size"), 1) }

// slack returns how many tokens less than asked for may be cached: a page, and the state of windows and compressors, which has a grain of its own.
func (c *check) slack() int { return max(c.page(), 16) }

// cachedOf returns cached_tokens of one answer.
func (c *check) cachedOf(p ids, more ...m) int {
	c.Helper()
	return c.generate(ask(p, full(2), more...)).int("cached_tokens")
}

func prefixHit(c *check) {
	p, page := prompt(50, 200), c.page()
	c.flush()
	c.equal("cached_tokens after a flush", c.cachedOf(p), 0)
	least, most := (len(p)-1)/page*page, len(p)-1
	if c.Upstream {
		most = least
	}
	if got := c.cachedOf(p); got < least || got > most {
		c.Errorf("cached_tokens of the second is %d, want %d to %d", got, least, most)
	}
}

func eightIdentical(c *check) {
	p := prompt(51, 200)
	c.flush()
	var all []pending
	for range 8 {
		all = append(all, c.later("/generate", ask(p, full(8))))
	}
	cold, computed := 0, 0
	var first reply
	for i, a := range all {
		r := a.wait(c).reply()
		cached := r.int("cached_tokens")
		if computed += len(p) - cached; cached == 0 {
			cold++
		}
		if i == 0 {
			first = r
		}
		c.same(fmt.Sprintf("answer %d", i), r, first)
	}
	if cold > 1 || computed > 2*len(p) {
		c.Errorf("%d prompts were computed from nothing, %d tokens in all; want at most 1 and %d", cold, computed, 2*len(p))
	}
}

func multiTurn(c *check) {
	p := prompt(52, 150)
	c.flush()
	r := c.generate(ask(p, full(60)))
	next := slices.Concat(p, r.ids(), prompt(520, 20))
	warm := c.generate(ask(next, full(8)))
	if got, want := warm.int("cached_tokens"), len(p)+60-c.slack(); got < want {
		c.Errorf("cached_tokens is %d, want at least %d", got, want)
	}
	c.flush()
	c.same("over the cache", warm, c.generate(ask(next, full(8))))
}

func extraKey(c *check) {
	p := prompt(53, 120)
	c.flush()
	for _, field := range []string{"extra_key", "cache_salt"} {
		c.equal(field+" a: cached_tokens", c.cachedOf(p, m{field: "a-" + field}), 0)
		c.equal(field+" b: cached_tokens", c.cachedOf(p, m{field: "b-" + field}), 0)
		if got := c.cachedOf(p, m{field: "a-" + field}); got == 0 {
			c.Errorf("%s a for the second time: cached_tokens is 0, want a hit", field)
		}
	}
}

func flushed(c *check) {
	p := prompt(54, 120)
	c.cachedOf(p)
	if c.cachedOf(p) == 0 {
		c.Errorf("before the flush nothing is cached")
	}
	c.flush()
	c.equal("cached_tokens after the flush", c.cachedOf(p), 0)
}
