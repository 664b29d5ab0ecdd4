package cpu

import (
	"furlong/dtype"
	"furlong/kernels/ref"
)

// plain is the vector unit of machines without assembly.
type plain struct{}

func (plain) name() string { return "go" }

func (plain) multiply(t *tile) {
	t.check()
	for i := range t.rows * t.n {
		for p := range t.panels {
			c := (*[panel]float32)(t.c[i*t.cs+p*panel:])
			var acc [panel]float32
			if t.from {
				acc = *c
			}
			for k := range t.k {
				fmaRow(&acc, t.a[i*t.as+k*t.ak], t.row(k, p))
			}
			for j := range c {
				if t.add {
					acc[j] += c[j]
				}
				c[j] = acc[j]
			}
		}
	}
}

// row returns row k of panel p of b in float32.
func (t *tile) row(k, p int) (row [panel]float32) {
	at := k*t.bk + p*t.bp
	if t.half == nil {
		return [panel]float32(t.b[at:])
	}
	plain{}.widen(row[:], t.half[at:], 1)
	return row
}

func fmaRow(acc *[panel]float32, a float32, b [panel]float32) {
	for j := range acc {
		acc[j] = ref.FMA(a, b[j], acc[j])
	}
}

func (plain) packRows(dst, b []float32, n, ld int) {
	for i := range n {
		copy(dst[i*panel:][:panel], b[i*ld:])
	}
}

func (plain) widen(dst []float32, half []uint16, n int) {
	for i := range n {
		row, h := dst[i*panel:][:panel], half[i*panel:][:panel]
		for j := range panel / 2 {
			row[j], row[j+8] = dtype.FromBF16(h[2*j]), dtype.FromBF16(h[2*j+1])
		}
	}
}

func (plain) widenRows(dst []float32, b []uint16, n, ld int) {
	for i := range n {
		for j, h := range b[i*ld:][:panel] {
			dst[i*panel+j] = dtype.FromBF16(h)
		}
	}
}
