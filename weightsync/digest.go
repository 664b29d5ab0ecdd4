package weightsync

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/zeebo/xxh3"

	"furlong/rl"
	"furlong/tensor"
)

// Digest returns the digest of b: XXH3-128, as any other implementation prints it.
func Digest(b []byte) rl.Digest { return xxh3.Hash128(b).Bytes() }

// A Hasher makes the [Digest] of bytes that come in pieces. The zero Hasher has seen none.
type Hasher struct{ h xxh3.Hasher }

// Write adds b.
func (h *Hasher) Write(b []byte) { _, _ = h.h.Write(b) } // it never fails

// Sum returns the digest of all that was added.
func (h *Hasher) Sum() rl.Digest { return h.h.Sum128().Bytes() }

// Reset forgets what was added.
func (h *Hasher) Reset() { h.h.Reset() }

// A Sum is the digest of one tensor and of what a backend derived from it.
type Sum struct {
	Info
	Source rl.Digest // of the bytes as they travel
	Layout rl.Digest // of all bytes of the weight's layout; zero where there is none
}

// Sums are the digests of a set of weights, by name.
type Sums []Sum

// SumsOf returns the digests of parameters.
func SumsOf(params []*tensor.Param) Sums {
	layouts := make(map[string]tensor.Layout, len(params))
	for _, p := range params {
		if p.Value.Layout != nil {
			layouts[p.Name] = p.Value.Layout
		}
	}
	return sums(Flatten(params), layouts)
}

func sums(ts []Tensor, layouts map[string]tensor.Layout) Sums {
	s := make(Sums, len(ts))
	each(len(ts), func(i int) {
		s[i] = Sum{Info: ts[i].Info, Source: Digest(ts[i].Mem)}
		if l := layouts[ts[i].Name]; l != nil {
			s[i].Layout = LayoutDigest(l)
		}
	})
	slices.SortFunc(s, func(a, b Sum) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// Derived returns s with the digests of parameters' layouts.
func (s Sums) Derived(params []*tensor.Param) Sums {
	digests := make([]rl.Digest, len(params))
	each(len(params), func(i int) {
		if l := params[i].Value.Layout; l != nil {
			digests[i] = LayoutDigest(l)
		}
	})
	layouts := make(map[string]rl.Digest, len(params))
	for i, p := range params {
		layouts[p.Name] = digests[i]
	}
	return s.WithLayouts(layouts)
}

// WithLayouts returns s with the digests of layouts by the names of their weights.
func (s Sums) WithLayouts(layouts map[string]rl.Digest) Sums {
	out := slices.Clone(s)
	for i := range out {
		if d := layouts[out[i].Name]; d != (rl.Digest{}) {
			out[i].Layout = d
		}
	}
	return out
}

// LayoutDigest returns the digest of all that products read of a layout, in its order.
func LayoutDigest(l tensor.Layout) rl.Digest {
	parts := l.Memory()
	if len(parts) == 1 {
		return Digest(parts[0])
	}
	var all []byte
	for _, part := range parts {
		d := Digest(part)
		all = append(all, d[:]...)
	}
	return Digest(all)
}

// State returns the digest of the weights as they travel: that of a line "name type shape digest" for each tensor, in the order of names.
func (s Sums) State() rl.Digest {
	return s.digest(func(x Sum) string { return fmt.Sprintf("%s %s %v %v\n", x.Name, x.Type, x.Shape, x.Source) })
}

// Effective returns the digest of all that passes read: the lines of State with the layout's digest behind them.
func (s Sums) Effective() rl.Digest {
	return s.digest(func(x Sum) string {
		return fmt.Sprintf("%s %s %v %v %v\n", x.Name, x.Type, x.Shape, x.Source, x.Layout)
	})
}

func (s Sums) digest(line func(Sum) string) rl.Digest {
	var text strings.Builder
	for _, x := range s {
		text.WriteString(line(x))
	}
	return Digest([]byte(text.String()))
}

// Diff names what differs from want; nil when nothing does. What one side has no layout of is compared by its source alone.
func (s Sums) Diff(want Sums) error {
	var wrong []string
	have := make(map[string]Sum, len(s))
	for _, x := range s {
		have[x.Name] = x
	}
	for _, w := range want {
		x, ok := have[w.Name]
		delete(have, w.Name)
		none := rl.Digest{}
		switch {
		case !ok:
			wrong = append(wrong, w.Name+" is not there")
		case x.Info.differs(w.Info) != "":
			wrong = append(wrong, w.Name+": "+x.Info.differs(w.Info))
		case x.Source != w.Source:
			wrong = append(wrong, fmt.Sprintf("%s: digest is %v, want %v", w.Name, x.Source, w.Source))
		case x.Layout != w.Layout && x.Layout != none && w.Layout != none:
			wrong = append(wrong, fmt.Sprintf("%s: digest of what is derived from it is %v, want %v", w.Name, x.Layout, w.Layout))
		}
	}
	for name := range have {
		wrong = append(wrong, name+" is not wanted")
	}
	return several(wrong)
}

const shown = 3 // of a list in an error

// several makes an error of what is wrong, in alphabetical order, with the first few in words.
func several(wrong []string) error {
	if len(wrong) == 0 {
		return nil
	}
	slices.Sort(wrong)
	return errors.New(few(wrong))
}

// few joins the first of a list and counts the rest.
func few(list []string) string {
	text := strings.Join(list[:min(shown, len(list))], "; ")
	if n := len(list) - shown; n > 0 {
		text += fmt.Sprintf("; and %d more", n)
	}
	return text
}

// each calls f for every i below n, on all cores. What f does must not depend on who does it.
func each(n int, f func(i int)) {
	var next atomic.Int64
	work := func() {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			f(i)
		}
	}
	var others sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
}
