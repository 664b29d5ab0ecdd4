package cpu

import (
	"furlong/dtype"
	"furlong/kernels/ref"
)

// plain runs t in Go.
func (t *tile) plain() {
	for i := range t.rows * t.n {
		for p := range t.panels() * t.m {
			c := t.c[i*t.cs+p*panel:][:min(panel, vec*t.vecs*t.m-p*panel)]
			var acc [panel]float32
			if t.from {
				copy(acc[:], c)
			}
			for k := range t.k {
				fmaRow(&acc, t.a[i/t.rows*t.at+i%t.rows*t.as+k*t.ak], t.row(k, p))
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
	at := k*t.bk + p%t.panels()*t.bp + p/t.panels()*t.bm
	if t.half == nil {
		copy(row[:], t.b[at:])
		return row
	}
	for j := range panel / 2 {
		row[j], row[j+8] = dtype.FromBF16(t.half[at+2*j]), dtype.FromBF16(t.half[at+2*j+1])
	}
	return row
}

func fmaRow(acc *[panel]float32, a float32, b [panel]float32) {
	for j := range acc {
		acc[j] = ref.FMA(a, b[j], acc[j])
	}
}
