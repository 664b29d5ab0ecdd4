package train

import (
	"slices"
	"strconv"

	"furlong/rl"
)

// agreement counts what choices of the actor and of the rollout engine have in common: the actor's own, and those that it used.
type agreement struct {
	routes, entries         []common // of each layer
	usedRoutes, usedEntries common
}

// common counts choices of tokens in one layer or in several.
type common struct {
	tokens, same, apart int // all; those whose choices are the same ones; those without a common one
	shared, of          int // choices
}

// add counts a token that shares some of its choices. A nil count counts nothing.
func (c *common) add(shared, of int) {
	if c == nil {
		return
	}
	c.tokens++
	c.shared += shared
	c.of += of
	switch shared {
	case of:
		c.same++
	case 0:
		c.apart++
	}
}

func (c *common) join(o common) {
	c.tokens += o.tokens
	c.same += o.same
	c.apart += o.apart
	c.shared += o.shared
	c.of += o.of
}

// share returns the part of choices that are shared.
func (c common) share() float64 { return float64(c.shared) / float64(c.of) }

// at returns the count of a layer.
func at(layers *[]common, layer int) *common {
	for len(*layers) <= layer {
		*layers = append(*layers, common{})
	}
	return &(*layers)[layer]
}

// shared returns how many members two short lists have in common, in any order; one that stands twice counts twice.
func shared(a, b []int32) (n int) {
	var used uint64
	for _, x := range a {
		for j, y := range b {
			if x == y && used>>j&1 == 0 {
				used |= 1 << j
				n++
				break
			}
		}
	}
	return n
}

// sharedAscending is shared for ascending lists without doubles. Negative members at the end of a don't count.
func sharedAscending(a, b []int32) (n int) {
	for len(a) > 0 && len(b) > 0 {
		switch x, y := a[0], b[0]; {
		case x < 0:
			return n
		case x == y:
			n++
			a, b = a[1:], b[1:]
		case x < y:
			a = a[1:]
		default:
			b = b[1:]
		}
	}
	return n
}

func (a *agreement) reset() {
	clear(a.routes)
	clear(a.entries)
	a.usedRoutes, a.usedEntries = common{}, common{}
}

// add adds the counts of o.
func (a *agreement) add(o *agreement) {
	for i, c := range o.routes {
		at(&a.routes, i).join(c)
	}
	for i, c := range o.entries {
		at(&a.entries, i).join(c)
	}
	a.usedRoutes.join(o.usedRoutes)
	a.usedEntries.join(o.usedEntries)
}

// report writes the shares, as far as there was something to compare.
func (a *agreement) report(stats rl.Stats) {
	reportCommon(stats, "moe/router_agreement", a.routes, a.usedRoutes)
	reportCommon(stats, "indexer/agreement", a.entries, a.usedEntries)
}

// reportCommon writes the shares of one kind of choice: of each layer, their mean and the worst, and of what was used.
func reportCommon(stats rl.Stats, name string, layers []common, used common) {
	var all common
	var shares []float64
	for i, c := range layers {
		if c.of > 0 {
			shares = append(shares, c.share())
			stats[name+"/"+strconv.Itoa(i)] = c.share()
			all.join(c)
		}
	}
	if len(shares) == 0 {
		return
	}
	sum := 0.0
	for _, s := range shares {
		sum += s
	}
	stats[name], stats[name+"_worst"] = sum/float64(len(shares)), slices.Min(shares)
	stats[name+"_same"], stats[name+"_none"] = float64(all.same)/float64(all.tokens), float64(all.apart)/float64(all.tokens)
	stats[name+"_used"] = used.share()
}
