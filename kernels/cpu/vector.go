package cpu

// A vector unit does the arithmetic of one chunk. There are two: avx2 is assembly, plain is Go, and both
// give the bits of kernels/ref. Slices are checked before the assembly sees them.
type vector interface {
	// name is "avx2" or "go".
	name() string
	// multiply runs a run of tiles of a product.
	multiply(t *tile)
	// packRows copies 16 columns of n rows of b, ld apart, to dst [n, 16].
	packRows(dst, b []float32, n, ld int)
	// widen sets dst [n, 16] to a panel of bfloat16 (columns j and j+8 in one word).
	widen(dst []float32, panel []uint16, n int)
	// widenRows is packRows for bfloat16.
	widenRows(dst []float32, b []uint16, n, ld int)
}

// A tile is n tiles of rows x panels*16 of c, one below the other, each a chain over k:
//
//	c[i*cs+16*p+j] = sum over k of a[i*as+k*ak] * b[k*bk+p*bp+j]
//
// All sizes are in elements. half, if set, is b in bfloat16, columns j and j+8 of a panel in one word.
type tile struct {
	rows, panels, n, k int
	c, a, b            []float32
	half               []uint16
	cs, as, ak, bk, bp int
	ahead              int  // from each line of b to one that is worth fetching early
	from               bool // chains start from c, else from zero
	add                bool // what c held is added at the end
}

const panel = 16 // columns of a panel

// check panics if t reaches beyond its slices.
func (t *tile) check() {
	rows, width := t.rows*t.n, panel*t.panels
	if t.k < 1 || rows < 1 {
		panic("cpu: empty tile")
	}
	_ = t.c[(rows-1)*t.cs+width-1]
	_ = t.a[(rows-1)*t.as+(t.k-1)*t.ak]
	last := (t.k-1)*t.bk + (t.panels-1)*t.bp + panel - 1
	if t.half != nil {
		_ = t.half[last]
	} else {
		_ = t.b[last]
	}
}
