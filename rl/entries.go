package rl

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// Entries are the compressed entries that the first tokens of a sample read where an indexer chooses. A token that sees no more than Most entries reads
// all of them, and nothing is recorded. One that sees n of them reads exactly Most, whose ascending numbers are coded by their gaps.
//
// The code is Rice's, of whichever is fewer: the entries that are read, or those that are left out. Each is the number of entries since the one before:
// as many zeros as its high part counts, a one, and its low bits. How many bits are low follows from n and Most. With none the row is a bitmap. A
// row begins a byte.
type Entries struct {
	Rate   int      `json:"rate"`   // tokens of an entry
	Most   int      `json:"most"`   // entries that a token reads
	Layers []int    `json:"layers"` // those with an indexer
	Tokens int      `json:"tokens"`
	Rows   [][]byte `json:"rows"` // of each of Layers, the rows of all tokens end to end
}

// NewEntries returns entries of no tokens in a model whose indexers, in the given layers, choose among windows of rate tokens.
func NewEntries(layers []int, rate, most int) *Entries {
	return &Entries{Rate: rate, Most: most, Layers: layers, Rows: make([][]byte, len(layers))}
}

// Like returns entries of no tokens in the same model.
func (e *Entries) Like() *Entries { return NewEntries(e.Layers, e.Rate, e.Most) }

// Clone returns a copy in memory of its own, nil of nil.
func (e *Entries) Clone() *Entries {
	if e == nil {
		return nil
	}
	c := *e
	c.Layers, c.Rows = slices.Clone(e.Layers), make([][]byte, len(e.Rows))
	for i, rows := range e.Rows {
		c.Rows[i] = slices.Clone(rows)
	}
	return &c
}

// Len returns the number of tokens, 0 for no entries at all.
func (e *Entries) Len() int {
	if e == nil {
		return 0
	}
	return e.Tokens
}

// Bytes returns what all rows take.
func (e *Entries) Bytes() (n int) {
	for _, rows := range e.Rows {
		n += len(rows)
	}
	return n
}

// Place returns where a layer stands in Layers, -1 where it has no indexer.
func (e *Entries) Place(layer int) int { return slices.Index(e.Layers, layer) }

// Drops reports whether the token at pos sees more entries than it reads, so that there is something to record.
func (e *Entries) Drops(pos int) bool { return e.sees(pos) > e.Most }

// sees returns how many entries the token at pos can read: those whose windows have closed.
func (e *Entries) sees(pos int) int { return (pos + 1) / e.Rate }

// MostBytes returns the longest row of a token below a length.
func (e *Entries) MostBytes(length int) (most int) {
	for n := e.Most + 1; n <= length/e.Rate; n++ {
		_, size := riceLow(n, fewer(n, e.Most))
		most = max(most, (size+7)/8)
	}
	return most
}

// fewer returns how many of n entries are coded if k of them are read.
func fewer(n, k int) int { return min(k, n-k) }

// riceLow returns how many bits of each gap are low ones when c of n entries are coded, and the most bits that they take together: gaps sum to at most n-c.
func riceLow(n, c int) (low, most int) {
	most = n
	for b := 1; n>>b > 0; b++ {
		if with := c*(b+1) + (n-c)>>b; with < most {
			low, most = b, with
		}
	}
	return low, most
}

// Pack appends to b the row of the token at pos, which reads the entries of these ascending numbers; what follows the first negative one does not count.
// It panics where they are not what an indexer chooses: Most of what the token sees, or all.
func (e *Entries) Pack(b []byte, pos int, numbers []int32) []byte {
	if i := slices.Index(numbers, -1); i >= 0 {
		numbers = numbers[:i]
	}
	n := e.sees(pos)
	if !chosen(numbers, n, min(n, e.Most)) {
		panic(fmt.Sprintf("entries: the token at %d reads %v, want %d ascending numbers below %d", pos, numbers, min(n, e.Most), n))
	}
	if n <= e.Most {
		return b
	}
	if n-e.Most < e.Most {
		numbers = others(nil, numbers, n)
	}
	low, _ := riceLow(n, len(numbers))
	return packGaps(b, numbers, low)
}

// chosen reports whether numbers are k ascending ones below n.
func chosen(numbers []int32, n, k int) bool {
	last := int32(-1)
	for _, v := range numbers {
		if v <= last || int(v) >= n {
			return false
		}
		last = v
	}
	return len(numbers) == k
}

// others appends to dst the numbers below n that are not among ascending ones.
func others(dst, numbers []int32, n int) []int32 {
	for v := range int32(n) {
		if len(numbers) > 0 && numbers[0] == v {
			numbers = numbers[1:]
			continue
		}
		dst = append(dst, v)
	}
	return dst
}

// Unpack appends to dst the numbers of the entries that the token at pos reads, as its row, which rows begins with, has them, and returns the rows that
// follow.
func (e *Entries) Unpack(dst []int32, pos int, rows []byte) (numbers []int32, rest []byte, err error) {
	n := e.sees(pos)
	if n <= e.Most {
		for v := range int32(n) {
			dst = append(dst, v)
		}
		return dst, rows, nil
	}
	c, have := fewer(n, e.Most), len(dst)
	low, _ := riceLow(n, c)
	if dst, rest, err = unpackGaps(dst, rows, n, c, low); err != nil {
		return dst, rest, fmt.Errorf("the token at %d: %w", pos, err)
	}
	if c < e.Most {
		left := slices.Clone(dst[have:])
		dst = others(dst[:have], left, n)
	}
	return dst, rest, nil
}

// packGaps appends ascending numbers, low bits of each gap apart. Bits fill bytes from the lowest one on.
func packGaps(b []byte, numbers []int32, low int) []byte {
	var acc uint64
	have, next := 0, int32(0)
	flush := func() {
		for ; have >= 8; have -= 8 {
			b, acc = append(b, byte(acc)), acc>>8
		}
	}
	for _, v := range numbers {
		gap := int(v - next)
		next = v + 1
		for high := gap >> low; high > 0; high -= min(high, 32) {
			have += min(high, 32)
			flush()
		}
		acc |= (1 | uint64(gap&(1<<low-1))<<1) << have
		have += 1 + low
		flush()
	}
	if have > 0 {
		b = append(b, byte(acc))
	}
	return b
}

var errRow = errors.New("its row of entries is damaged, or another's")

// unpackGaps is the reverse of packGaps for c numbers below n.
func unpackGaps(dst []int32, b []byte, n, c, low int) (numbers []int32, rest []byte, err error) {
	in, next := bits64{from: b}, 0
	for range c {
		high, ok := in.zeros((n - next) >> low)
		tail, whole := in.take(low)
		if next += high<<low | tail; !ok || !whole || next >= n {
			return dst, b, errRow
		}
		dst = append(dst, int32(next))
		next++
	}
	return dst, b[in.bytes():], nil
}

// bits64 reads bits, the lowest of each byte first.
type bits64 struct {
	from []byte
	at   int    // bytes taken into acc
	acc  uint64 // bits to come
	have int    // so many of them
}

func (r *bits64) fill() {
	for ; r.have <= 56 && r.at < len(r.from); r.at++ {
		r.acc |= uint64(r.from[r.at]) << r.have
		r.have += 8
	}
}

// zeros returns how many zeros come before the next one, which is taken too. Without a one after at most so many it reports false.
func (r *bits64) zeros(most int) (n int, ok bool) {
	for r.fill(); r.acc == 0; r.fill() {
		if n += r.have; r.have == 0 || n > most {
			return 0, false
		}
		r.have = 0
	}
	z := bits.TrailingZeros64(r.acc)
	r.acc >>= z + 1
	r.have -= z + 1
	return n + z, n+z <= most
}

// take returns the next n bits, and whether they are there.
func (r *bits64) take(n int) (v int, ok bool) {
	r.fill()
	if r.have < n {
		return 0, false
	}
	v = int(r.acc & (1<<n - 1))
	r.acc >>= n
	r.have -= n
	return v, true
}

// bytes returns how many bytes have been begun.
func (r *bits64) bytes() int { return (8*r.at - r.have + 7) / 8 }

// Add appends the rows of one more token, one for each of Layers.
func (e *Entries) Add(rows ...[]byte) {
	for i, row := range rows {
		e.Rows[i] = append(e.Rows[i], row...)
	}
	e.Tokens++
}

// Fits reports what keeps e from being entries of a model, as far as that shows without reading the rows.
func (e *Entries) Fits(layers []int, rate, most int) error {
	if !slices.Equal(e.Layers, layers) || e.Rate != rate || e.Most != most || len(e.Rows) != len(layers) {
		return fmt.Errorf("entries are %d of windows of %d tokens in layers %v, want %d of %d tokens in %v", e.Most, e.Rate, e.Layers, most, rate, layers)
	}
	return nil
}

// Check reports what keeps e from being entries of a model.
func (e *Entries) Check(layers []int, rate, most int) error {
	if err := e.Fits(layers, rate, most); err != nil {
		return err
	}
	for i, rows := range e.Rows {
		if err := e.checkRows(rows); err != nil {
			return fmt.Errorf("layer %d: %w", layers[i], err)
		}
	}
	return nil
}

func (e *Entries) checkRows(rows []byte) (err error) {
	var numbers []int32
	for pos := range e.Tokens {
		if numbers, rows, err = e.Unpack(numbers[:0], pos, rows); err != nil {
			return err
		}
	}
	if len(rows) > 0 {
		return fmt.Errorf("%d bytes follow the row of the last token", len(rows))
	}
	return nil
}
