package quant

import (
	"fmt"
	"math"

	"furlong/dtype"
	"furlong/tensor"
)

// The two flavours of E4M3 differ by a factor of two in every code, and in four codes: E4M3's NaNs are 0x7f and 0xff, FNUZ's is 0x80, which is
// E4M3's negative zero. A byte taken for the other flavour is a plausible number, so the flavour is part of the tensor's type, and only the
// functions here change it: with twice the scale, the codes of E4M3 mean the same numbers in FNUZ.

const (
	negativeZero = 0x80 // of E4M3
	nanFNUZ      = 0x80
	nanE4M3      = 0x7f
	largestFNUZ  = 0x7f // 240, and 480 if it were twice as much, which E4M3 does not have
)

// ToFNUZ turns an E4M3 weight, in place, into an E4M3FNUZ weight of the same numbers: codes stay, but negative zero becomes zero and a NaN FNUZ's
// NaN, and scales double. It refuses what is no E4M3, so that nothing is doubled twice, and a scale that can't double; then nothing is changed.
func ToFNUZ(q *tensor.Tensor) error {
	if err := flavoured(q, dtype.E4M3); err != nil {
		return fmt.Errorf("to FNUZ: %w", err)
	}
	if err := rescale(q.Scale, 2); err != nil {
		return fmt.Errorf("to FNUZ: %w", err)
	}
	for i, c := range q.Mem {
		switch c {
		case negativeZero:
			q.Mem[i] = 0
		case nanE4M3, nanE4M3 | 0x80:
			q.Mem[i] = nanFNUZ
		}
	}
	q.Type = dtype.E4M3FNUZ
	return nil
}

// FromFNUZ is the inverse of [ToFNUZ], but for the sign of zeros. It refuses weights with 240 or -240, which no weight has that came from E4M3: at half the
// scale there is no code for them.
func FromFNUZ(q *tensor.Tensor) error {
	if err := flavoured(q, dtype.E4M3FNUZ); err != nil {
		return fmt.Errorf("from FNUZ: %w", err)
	}
	for i, c := range q.Mem {
		if c&0x7f == largestFNUZ {
			return fmt.Errorf("from FNUZ: code %d is %#02x, %v, which is %v at half the scale, want at most %v", i, c, dtype.FromE4M3FNUZ(c), 2*dtype.FromE4M3FNUZ(c), float32(dtype.MaxE4M3))
		}
	}
	if err := rescale(q.Scale, 0.5); err != nil {
		return fmt.Errorf("from FNUZ: %w", err)
	}
	for i, c := range q.Mem {
		if c == nanFNUZ {
			q.Mem[i] = nanE4M3
		}
	}
	q.Type = dtype.E4M3
	return nil
}

// flavoured says in what q is no weight of a flavour.
func flavoured(q *tensor.Tensor, want dtype.Type) error {
	switch {
	case !q.Quantised():
		return fmt.Errorf("%v has no scales", q)
	case q.Type != want && want == dtype.E4M3 && q.Type == dtype.E4M3FNUZ:
		return fmt.Errorf("%v is FNUZ already: doubled again, it would mean twice as much", q)
	case q.Type != want:
		return fmt.Errorf("%v is not %v", q, want)
	case q.Scale.Type != dtype.E8M0 && q.Scale.Type != dtype.F32:
		return fmt.Errorf("scales are %v, want %v or %v", q.Scale, dtype.E8M0, dtype.F32)
	}
	return nil
}

// rescale multiplies all scales by 2 or a half, or none of them if one can't be. NaN stays NaN.
func rescale(scales *tensor.Tensor, by float32) error {
	if scales.Type == dtype.E8M0 {
		return rescaleE8M0(scales.Mem, int(math.Log2(float64(by))))
	}
	for i, s := range scales.F32() {
		if x := s * by; x/by != s && !math.IsNaN(float64(s)) {
			return fmt.Errorf("scale %d is %v, and %v times that is no float32", i, s, by)
		}
	}
	for i := range scales.F32() {
		scales.F32()[i] *= by
	}
	return nil
}

func rescaleE8M0(scales []byte, by int) error {
	for i, s := range scales {
		if to := int(s) + by; s != dtype.NaNE8M0 && (to < 0 || to >= dtype.NaNE8M0) {
			return fmt.Errorf("scale %d is 2^%d, and there is no 2^%d", i, int(s)-127, to-127)
		}
	}
	for i, s := range scales {
		if s != dtype.NaNE8M0 {
			scales[i] = uint8(int(s) + by)
		}
	}
	return nil
}

// as returns q as if it were E4M3, over the same memory.
func as(q *tensor.Tensor) *tensor.Tensor {
	t := *q
	t.Type, t.Layout = dtype.E4M3, nil
	return &t
}

// packFNUZ packs as E4M3, so that both flavours of a weight mean the same numbers, and turns the result.
func packFNUZ(q, w *tensor.Tensor) {
	t := as(q)
	Pack(t, w)
	if err := ToFNUZ(t); err != nil {
		panic(fmt.Sprintf("quant: %v", err)) // no scale that Pack makes is too large to double
	}
}

// unpackFNUZ is [Unpack] of FNUZ codes.
func unpackFNUZ(w, q *tensor.Tensor) {
	run(callFor(as(q), w), unpackBandFNUZ)
}

func unpackBandFNUZ(c *call, band int) int {
	for j := range c.wide {
		t, s := c.tile(band, j), scaleAt(c.q, band*c.wide+j)
		for r := t.top; r < t.bottom; r++ {
			lo, hi := t.row(r)
			for k := lo; k < hi; k++ {
				if x := dtype.FromE4M3FNUZ(c.q.Mem[k]) * s; c.x != nil {
					c.x[k] = x
				} else {
					c.b[k] = dtype.ToBF16(x)
				}
			}
		}
	}
	return 0
}
