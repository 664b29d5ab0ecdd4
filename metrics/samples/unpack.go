package samples

import (
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
)

// perExperts reads where the experts of each sample are.
func (b *Body) perExperts(n int64) (err error) {
	if b.model == nil {
		return nil
	}
	if err := b.model.check(); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	if b.expertsTo, err = numbers[uint64](b, colExpertsTo, n, 8); err != nil {
		return err
	}
	if b.expertsSum, err = numbers[uint32](b, colExpertsSum, n, 4); err != nil {
		return err
	}
	c, ok := b.find(colExperts)
	if !ok {
		return fmt.Errorf("has no column %s", colExperts)
	}
	if n > 0 && (!slices.IsSorted(b.expertsTo) || b.expertsTo[n-1] != uint64(c.Bytes)) {
		return fmt.Errorf("column %s: its %d bytes do not end where those of the last sample do, or ends go backwards", c.Name, c.Bytes)
	}
	return nil
}

// chosen reads the experts of sample i.
func (b *Body) chosen(i int) (*Chosen, error) {
	if b.model == nil {
		return nil, nil
	}
	var lo uint64
	if i > 0 {
		lo = b.expertsTo[i-1]
	}
	c, _ := b.find(colExperts) // newBody has looked
	raw := make([]byte, b.expertsTo[i]-lo)
	if _, err := b.r.ReadAt(raw, b.data+c.Offset+int64(lo)); err != nil && len(raw) > 0 {
		return nil, fmt.Errorf("column %s: %w", colExperts, short(err))
	}
	if sum := crc32.Checksum(raw, castagnoli); sum != b.expertsSum[i] {
		return nil, fmt.Errorf("column %s: checksum is %08x, want %08x", colExperts, sum, b.expertsSum[i])
	}
	return b.model.unpack(raw, b.starts[perToken][i+1]-b.starts[perToken][i])
}

// A bitReader walks over the bits of a sample's experts.
type bitReader struct {
	c    *Chosen
	at   int64
	over error // the bits ended too early, or say what no writer says
}

// flag takes one bit.
func (r *bitReader) flag() bool {
	if r.over == nil && r.at >= 8*int64(len(r.c.bits)) {
		r.over = fmt.Errorf("experts end within a token, after %d bytes", len(r.c.bits))
	}
	if r.over != nil {
		return false
	}
	r.at++
	return r.c.get(r.at-1, 1) == 1
}

// row takes the experts of a token, and returns where they begin.
func (r *bitReader) row() int64 {
	m, from := r.c.model(), r.at
	if left := 8*int64(len(r.c.bits)) - r.at; r.over == nil && int64(m.rowBits()) > left {
		r.over = fmt.Errorf("experts end within a token, after %d bytes", len(r.c.bits))
	}
	if r.over != nil {
		return -1
	}
	for n, i := m.idBits(), 0; i < m.Layers*m.Choices; i++ {
		if e := r.c.get(r.at, n); e >= m.Experts {
			r.over = fmt.Errorf("token %d goes to expert %d in layer %d, want less than %d", len(r.c.at[0]), e, i/m.Choices, m.Experts)
			return -1
		}
		r.at += int64(n)
	}
	return from
}

// unpack reads what is kept of a sample of n tokens, nil for nothing.
func (m model) unpack(packed []byte, n int64) (*Chosen, error) {
	if len(packed) == 0 {
		return nil, nil
	}
	if most := 8 * int64(len(packed)); 2*(n-1) > most {
		return nil, fmt.Errorf("experts of %d tokens in %d bytes, want at least two bits each", n-1, len(packed))
	}
	c := &Chosen{Layers: m.Layers, Choices: m.Choices, Experts: m.Experts, bits: packed}
	for side := range c.at {
		c.at[side] = make([]int64, 0, max(0, n-1))
	}
	r := &bitReader{c: c}
	for range n - 1 {
		r.token()
		if r.over != nil {
			return nil, r.over
		}
	}
	if r.at <= 8*int64(len(packed)-1) {
		return nil, fmt.Errorf("experts take %d bits of %d bytes", r.at, len(packed))
	}
	for r.at < 8*int64(len(packed)) {
		if r.flag() {
			return nil, errors.New("experts end in bits that are not 0")
		}
	}
	return c, nil
}

// token takes what is kept of the next token.
func (r *bitReader) token() {
	at := [numSides]int64{-1, -1}
	drawn, trained := r.flag(), r.flag()
	if drawn {
		at[ByRollout] = r.row()
	}
	switch {
	case drawn && trained && r.flag():
		at[ByTrainer] = at[ByRollout]
	case trained:
		at[ByTrainer] = r.row()
	}
	for side := range at {
		r.c.at[side] = append(r.c.at[side], at[side])
	}
}
