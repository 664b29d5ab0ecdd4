package report

import (
	"cmp"
	"hash/fnv"
	"math"
	"os"
	"path/filepath"
	"slices"

	"furlong/metrics/run"
	"furlong/metrics/samples"
)

// A Shown is a sample on the page, and why it is there.
type Shown struct {
	Why string
	*samples.Stored
	Cells []Cell // of its response
	From  int    // the first cell's token
	Left  int    // tokens of the response that are not shown
}

// A found is a row of the index whose body is kept.
type found struct {
	samples.Row
	attempt uint32
}

// A want is a reason to show samples: the first two in its order.
type want struct {
	why  string
	fits func(f found) bool
	less func(a, b found) int
}

// wants are the reasons. Where some fit nothing, others and samples by lot fill the ten.
func wants(seed uint64) []want {
	all := func(found) bool { return true }
	newest := func(a, b found) int {
		return cmp.Or(cmp.Compare(b.Cycle, a.Cycle), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Slot, b.Slot))
	}
	lot := func(f found) uint64 { return draw(seed, f) }
	return []want{
		{"best", all, func(a, b found) int {
			return cmp.Or(cmp.Compare(b.Reward, a.Reward), cmp.Compare(b.Advantage, a.Advantage), newest(a, b))
		}},
		{"worst", all, func(a, b found) int {
			return cmp.Or(cmp.Compare(a.Reward, b.Reward), cmp.Compare(a.Advantage, b.Advantage), newest(a, b))
		}},
		{"largest gap", func(f found) bool { return f.GapMax > 0 }, func(a, b found) int { return cmp.Or(cmp.Compare(b.GapMax, a.GapMax), newest(a, b)) }},
		{"truncated", func(f found) bool { return f.Flags&samples.Truncated != 0 }, newest},
		{"by lot", all, func(a, b found) int { return cmp.Compare(lot(a), lot(b)) }},
	}
}

// draw returns a number that depends on the seed and the sample's name alone.
func draw(seed uint64, f found) uint64 {
	h := fnv.New64a()
	for _, v := range []uint64{seed, uint64(f.Cycle), uint64(f.Group), uint64(f.Slot)} {
		var b [8]byte
		for i := range b {
			b[i] = byte(v >> (8 * i))
		}
		h.Write(b[:])
	}
	v := h.Sum64()
	v ^= v >> 33
	return v * 0xff51afd7ed558ccd
}

// shown is how many samples a page has, and perReason how many of each reason at first.
const (
	shown     = 10
	perReason = 2
)

// pick chooses samples and reads them: two for each reason, then the next by lot. The page has room for so many tokens.
func (r *Run) pick(tokens int) []Shown {
	dir := filepath.Join(r.Dir, run.SamplesDir)
	x, err := samples.OpenIndex(filepath.Join(dir, "index"))
	if err != nil {
		r.problem(err)
		return nil
	}
	defer x.Close()
	seed, _ := r.number("rollout-seed")
	reasons := wants(uint64(math.Abs(seed)))
	tops := make([][]found, len(reasons))
	kept := map[uint32]bool{}
	for key, rows := range x.All() {
		if key.Eval != "" || !x.Live(key) || !has(kept, dir, key.Cycle) {
			continue
		}
		for _, row := range rows {
			f := found{row, key.Attempt}
			for i, w := range reasons {
				if w.fits(f) {
					tops[i] = insert(tops[i], f, w.less)
				}
			}
		}
	}
	r.problem(x.Problems...)
	return r.read(dir, chosen(reasons, tops), tokens/shown)
}

// has reports whether the body of a cycle is there.
func has(kept map[uint32]bool, dir string, cycle uint32) bool {
	there, known := kept[cycle]
	if !known {
		_, err := os.Stat(filepath.Join(dir, samples.Name(cycle, "")))
		there = err == nil
		kept[cycle] = there
	}
	return there
}

// insert keeps the first ten in order.
func insert(top []found, f found, less func(a, b found) int) []found {
	at, _ := slices.BinarySearchFunc(top, f, less)
	if at == shown {
		return top
	}
	top = slices.Insert(top, at, f)
	return top[:min(len(top), shown)]
}

type choice struct {
	why string
	found
}

// chosen returns ten different samples, as far as there are so many.
func chosen(reasons []want, tops [][]found) (all []choice) {
	taken := map[[3]uint32]bool{}
	take := func(i, n int) {
		groups := map[[2]uint32]bool{} // two samples of one reason are of different prompts
		for _, f := range tops[i] {
			name, group := [3]uint32{f.Cycle, f.Group, uint32(f.Slot)}, [2]uint32{f.Cycle, f.Group}
			if n > 0 && len(all) < shown && !taken[name] && !groups[group] {
				taken[name], groups[group] = true, true
				all = append(all, choice{reasons[i].why, f})
				n--
			}
		}
	}
	for i := range reasons {
		take(i, perReason)
	}
	take(len(reasons)-1, shown)
	return all
}

// read reads the samples that were chosen. One that cannot be read is named and left out.
func (r *Run) read(dir string, all []choice, tokens int) (out []Shown) {
	for _, c := range all {
		s, err := stored(filepath.Join(dir, samples.Name(c.Cycle, "")), c)
		if err != nil {
			r.problem(err)
			continue
		}
		if s != nil {
			out = append(out, newShown(c.why, s, tokens))
		}
	}
	return out
}

// stored reads a sample; nil where the body is of another attempt than the row.
func stored(path string, c choice) (*samples.Stored, error) {
	b, err := samples.OpenBody(path)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	at := b.At(c.Group, c.Slot)
	if at < 0 || b.Attempt != c.attempt {
		return nil, nil
	}
	return b.Sample(at)
}
