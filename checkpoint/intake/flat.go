package intake

import (
	"cmp"
	"fmt"
	"slices"

	"furlong/rl"
)

// A Flat is a tensor of a flattened bucket: one buffer that holds all tensors of a bucket, and says where each lies.
type Flat struct {
	Name  string `json:"name"`
	Type  string `json:"dtype"`
	Shape []int  `json:"shape"`
	Start int    `json:"start_idx"`
	End   int    `json:"end_idx"`
	Count int    `json:"numel"`
}

// Flattened cuts a buffer whose elements have the format of a name. There are two generations: in one the buffer has the format of all its tensors,
// and places count elements; in the other it is uint8, and places count bytes, of tensors in any formats. Tensors must fill it without gap and
// without overlap. The result shares the buffer, and may lie at any address.
func Flattened(buffer []byte, format string, list []Flat) ([]rl.Tensor, error) {
	of, ok := ParseType(format)
	if !ok || of.Bits()%8 != 0 {
		return nil, fmt.Errorf("flattened bucket: dtype is %.50q, want uint8, or that of all its tensors", format)
	}
	unit := of.Bits() / 8
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Flat) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End)) })
	at, out := 0, make([]rl.Tensor, 0, len(list))
	for _, f := range list {
		if err := f.check(at, len(buffer)/unit); err != nil {
			return nil, err
		}
		if own, _ := ParseType(f.Type); unit > 1 && own != of {
			return nil, fmt.Errorf("tensor %.200q: is %.50s in a bucket of %v", f.Name, f.Type, of)
		}
		at = f.End
		out = append(out, rl.Tensor{Name: f.Name, Type: f.Type, Shape: f.Shape, Data: buffer[f.Start*unit : f.End*unit]})
	}
	if at*unit != len(buffer) {
		return nil, fmt.Errorf("flattened bucket: its tensors end at byte %d, the buffer at byte %d", at*unit, len(buffer))
	}
	return out, nil
}

// check holds a place against the end of the tensor before it and that of the buffer.
func (f Flat) check(before, end int) error {
	switch {
	case f.Start != before:
		return fmt.Errorf("tensor %.200q: begins at %d, want %d, where the one before it ends", f.Name, f.Start, before)
	case f.End < f.Start || f.End > end:
		return fmt.Errorf("tensor %.200q: ends at %d, want %d to %d", f.Name, f.End, f.Start, end)
	case f.Count != f.End-f.Start:
		return fmt.Errorf("tensor %.200q: numel is %d, but it lies at %d to %d", f.Name, f.Count, f.Start, f.End)
	}
	return nil
}

// Listed says what the tensors of an update are whose bytes come otherwise: by parallel lists of names, formats and shapes.
func Listed(names, formats []string, shapes [][]int) ([]Flat, error) {
	if len(names) != len(formats) || len(names) != len(shapes) {
		return nil, fmt.Errorf("%d names, %d dtypes and %d shapes, want as many of each", len(names), len(formats), len(shapes))
	}
	at, out := 0, make([]Flat, len(names))
	for i, name := range names {
		n, err := size(name, formats[i], shapes[i])
		if err != nil {
			return nil, err
		}
		if n > maxElements-at {
			return nil, fmt.Errorf("tensor %.200q: %d bytes come before it, which is too much", name, at)
		}
		out[i] = Flat{Name: name, Type: formats[i], Shape: shapes[i], Start: at, End: at + n, Count: n}
		at += n
	}
	return out, nil
}
