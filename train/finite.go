package train

import (
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"furlong/dtype"
	"furlong/tensor"
)

// Finite names the first weight of ps that is not a finite number, which spoils whatever is computed with it. It reads every weight once,
// on all cores.
func Finite(ps []*tensor.Param) error {
	errs := make([]error, len(ps))
	var next atomic.Int64
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(ps)); i = next.Add(1) - 1 {
				errs[i] = finite(ps[i].Name, ps[i].Value)
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func finite(name string, t *tensor.Tensor) error {
	if t.Scale != nil {
		if err := finite("scales of "+name, t.Scale); err != nil {
			return err
		}
	}
	if i, x := notFinite(t); i >= 0 {
		return fmt.Errorf("tensor %q: element %d of %v is %v, want a finite number", name, i, t, x)
	}
	return nil
}

// notFinite returns the place of the first number of t that is not finite, and the number; -1 if there is none. Codes of four bits and whole numbers always are
// finite; of E4M3 two codes are not, and of E8M0 one.
func notFinite(t *tensor.Tensor) (int, float64) {
	switch t.Type {
	case dtype.F32:
		return scan(t.Mem, 4, 0x7f800000, func(b []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))) })
	case dtype.BF16:
		return scan(t.Mem, 2, 0x7f80, func(b []byte) float64 { return float64(dtype.FromBF16(binary.LittleEndian.Uint16(b))) })
	case dtype.F64:
		return scan(t.Mem, 8, 0x7ff0<<48, func(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) })
	case dtype.E4M3:
		return slices.IndexFunc(t.Mem, func(b byte) bool { return b&0x7f == 0x7f }), math.NaN()
	case dtype.E8M0:
		return slices.Index(t.Mem, 0xff), math.NaN()
	}
	return -1, 0
}

// scan looks through numbers of size bytes for one whose exponent is all ones. Eight bytes are looked at together: the lowest bit of the exponent, added to one
// that is all ones, arrives in the sign, and in no other case does anything.
func scan(mem []byte, size int, exponent uint64, value func([]byte) float64) (int, float64) {
	lowest, every := exponent&-exponent, uint64(0)
	for s := 0; s < 64; s += 8 * size {
		every |= 1 << s
	}
	mask, add, sign := exponent*every, lowest*every, every<<(8*size-1)
	whole, i := len(mem)&^7, 0
	for ; i+32 <= whole; i += 32 { // four at a time until there is one among them
		m := mem[i : i+32 : i+32]
		a, b := binary.LittleEndian.Uint64(m)&mask+add, binary.LittleEndian.Uint64(m[8:])&mask+add
		c, d := binary.LittleEndian.Uint64(m[16:])&mask+add, binary.LittleEndian.Uint64(m[24:])&mask+add
		if (a|b|c|d)&sign != 0 {
			break
		}
	}
	for ; i < whole; i += 8 {
		if (binary.LittleEndian.Uint64(mem[i:])&mask+add)&sign != 0 {
			return first8(mem[i:], size, i/size, value)
		}
	}
	if whole == len(mem) {
		return -1, 0
	}
	return first8(mem[whole:], size, whole/size, value)
}

// first8 looks at the numbers of up to eight bytes one by one. The first is number at.
func first8(mem []byte, size, at int, value func([]byte) float64) (int, float64) {
	for i := 0; i < min(8, len(mem)); i += size {
		if x := value(mem[i:]); math.IsNaN(x) || math.IsInf(x, 0) {
			return at + i/size, x
		}
	}
	return -1, 0
}
