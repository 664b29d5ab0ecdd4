package rollouts

import (
	"fmt"
	"slices"

	"furlong/checkpoint/safetensors"
	"furlong/dtype"
	"furlong/tensor"
)

// A walk goes over the fields of many rows at once: from them into columns or, where there is a file, from its columns into them. The first error ends it.
type walk struct {
	columns map[string]*tensor.Tensor // that were filled
	file    *safetensors.File         // to read from; nil when writing
	sums    map[string]string         // checksums of its columns, where it has them
	err     error
}

func (w *walk) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

// rows returns how many rows a column has, 0 and an error where it is missing.
func (w *walk) rows(name string) int {
	info, ok := w.file.Info(name)
	if !ok || len(info.Shape) != 1 {
		w.fail("%s is missing, or no list", name)
		return 0
	}
	if info.Shape[0] > MostSamples {
		w.fail("%s has %d values, want at most %d", name, info.Shape[0], MostSamples)
		return 0
	}
	return info.Shape[0]
}

// column returns a column of the file, nil if it is not there. rows is how many values it must have, -1 for any number.
func (w *walk) column(name string, want dtype.Type, rows int) *tensor.Tensor {
	info, ok := w.file.Info(name)
	had, summed := w.sums[name]
	switch {
	case w.err != nil || !ok && !summed:
		return nil
	case !ok:
		w.fail("%s is missing, only its checksum is there: the file is damaged", name)
		return nil
	case !summed && w.sums != nil:
		w.fail("%s has no checksum, the others have: the file is damaged", name)
		return nil
	case info.Type != want || len(info.Shape) != 1:
		w.fail("%s is %v, want a list of %v", name, info, want)
		return nil
	case rows >= 0 && info.Shape[0] != rows:
		w.fail("%s has %d values, want %d", name, info.Shape[0], rows)
		return nil
	}
	t, err := w.file.Tensor(name)
	if err != nil {
		w.fail("%w", err)
		return nil
	}
	if summed && had != sum(t) {
		w.fail("%s has checksum %s, want %.8q: the file is damaged", name, sum(t), had)
		return nil
	}
	return t
}

// must is column for one that has to be there.
func (w *walk) must(name string, want dtype.Type, rows int) *tensor.Tensor {
	if _, ok := w.file.Info(name); !ok {
		w.fail("%s is missing", name)
	}
	return w.column(name, want, rows)
}

// put keeps a column that was filled.
func (w *walk) put(name string, of dtype.Type, n int) *tensor.Tensor {
	t := tensor.New(of, n)
	w.columns[name] = t
	return t
}

type whole interface{ ~int | ~int64 | ~uint64 }

// ints is a column of one whole number a row, I64. Those above its range keep their bits.
func ints[E any, V whole](w *walk, name string, all []E, at func(E) *V) {
	if w.file == nil {
		col := w.put(name, dtype.I64, len(all)).I64()
		for i, e := range all {
			col[i] = int64(*at(e))
		}
		return
	}
	if t := w.column(name, dtype.I64, len(all)); t != nil {
		for i, v := range t.I64() {
			*at(all[i]) = V(v)
		}
	}
}

// reals is a column of one float64 a row.
func reals[E any](w *walk, name string, all []E, at func(E) *float64) {
	if w.file == nil {
		col := w.put(name, dtype.F64, len(all)).F64()
		for i, e := range all {
			col[i] = *at(e)
		}
		return
	}
	if t := w.column(name, dtype.F64, len(all)); t != nil {
		for i, v := range t.F64() {
			*at(all[i]) = v
		}
	}
}

// codes is a column of one of a few named values a row, U8: below limit.
func codes[E any, V ~uint8](w *walk, name string, all []E, limit V, at func(E) *V) {
	if w.file == nil {
		col := w.put(name, dtype.U8, len(all)).Mem
		for i, e := range all {
			col[i] = uint8(*at(e))
		}
		return
	}
	if t := w.column(name, dtype.U8, len(all)); t != nil {
		for i, v := range t.Mem {
			if V(v) >= limit {
				w.fail("row %d: %s is %d, want less than %d", i, name, v, limit)
			}
			*at(all[i]) = V(v)
		}
	}
}

type element interface{ byte | int32 | int64 | float32 }

// typeOf returns how the elements of a list are kept.
func typeOf[V element]() dtype.Type {
	var v V
	switch any(v).(type) {
	case int32:
		return dtype.I32
	case int64:
		return dtype.I64
	case float32:
		return dtype.F32
	}
	return dtype.U8
}

// elements returns a column's values, in its memory.
func elements[V element](t *tensor.Tensor) []V {
	var v any
	switch t.Type {
	case dtype.I32:
		v = t.I32()
	case dtype.I64:
		v = t.I64()
	case dtype.F32:
		v = t.F32()
	default:
		v = t.Mem
	}
	return v.([]V)
}

// lists is a column of a list a row, with the column of its offsets. A column that no row has anything for is left out.
func lists[E any, V element](w *walk, name string, all []E, at func(E) *[]V) {
	if w.file != nil {
		takeLists(w, name, all, at)
		return
	}
	n := 0
	for _, e := range all {
		n += len(*at(e))
	}
	if n == 0 {
		return
	}
	ends, col := w.put(name+offsets, dtype.I64, len(all)+1).I64(), elements[V](w.put(name, typeOf[V](), n))
	for i, e := range all {
		ends[i+1] = ends[i] + int64(copy(col[ends[i]:], *at(e)))
	}
}

// offsets ends the name of the column that says where each row's list begins, and where the last ends.
const offsets = ".offsets"

func takeLists[E any, V element](w *walk, name string, all []E, at func(E) *[]V) {
	t := w.column(name, typeOf[V](), -1)
	if t == nil {
		return
	}
	where := w.must(name+offsets, dtype.I64, len(all)+1)
	if where == nil {
		return
	}
	col, ends := slices.Clone(elements[V](t)), where.I64()
	if ends[0] != 0 || ends[len(all)] != int64(len(col)) || !slices.IsSorted(ends) {
		w.fail("%s%s must rise from 0 to %d, the values of %s", name, offsets, len(col), name)
		return
	}
	for i, e := range all {
		if lo, hi := ends[i], ends[i+1]; hi > lo {
			*at(e) = col[lo:hi:hi]
		}
	}
}

// texts is a column of a text a row, in bytes.
func texts[E any](w *walk, name string, all []E, at func(E) *string) {
	raw := make([]*[]byte, len(all))
	for i, e := range all {
		b := []byte(*at(e))
		raw[i] = &b
	}
	lists(w, name, raw, func(b *[]byte) *[]byte { return b })
	if w.file == nil {
		return
	}
	for i, e := range all {
		*at(e) = string(*raw[i])
	}
}
