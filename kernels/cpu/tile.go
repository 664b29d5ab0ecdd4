package cpu

// A tile is n tiles of rows x vecs*8 of c, one below the other, and m such stacks side by side, each element a chain over k.
// With two vectors in a panel, the last of which may be half full if m is 1:
//
//	c[i*cs+16*p+j] = sum over k of a[i/rows*at+i%rows*as+k*ak] * b[k*bk+p%panels*bp+p/panels*bm+j]
//
// All sizes are in elements. half, if set, is b in bfloat16, columns j and j+8 of a panel in one word.
type tile struct {
	rows, vecs, n, m, k    int
	c, a, b                []float32
	half                   []uint16
	cs, as, ak, bk, bp, bm int

	at    int  // from the a of a tile to that of the next; rows*as, unless a is copied by tiles
	ahead int  // from b to what is worth fetching early
	pace  int  // how much of that in each step, a fraction of a line
	from  bool // chains start from c, else from zero
	add   bool // what c held is added at the end
}

const (
	panel = 16 // columns of a panel
	vec   = 8  // columns of a vector
)

// panels returns how many panels a tile reads abreast.
func (t *tile) panels() int { return (t.vecs + 1) / 2 }

// check panics if t reaches beyond its slices.
func (t *tile) check() {
	rows, width := t.rows*t.n, vec*t.vecs*t.m
	if t.k < 1 || rows < 1 || width < 1 {
		panic("cpu: empty tile")
	}
	if t.as != 1 && t.ak != 1 {
		panic("cpu: neither rows nor columns of a lie side by side")
	}
	_ = t.c[(rows-1)*t.cs+width-1]
	_ = t.a[(t.n-1)*t.at+(t.rows-1)*t.as+(t.k-1)*t.ak]
	last := (t.k-1)*t.bk + (t.panels()-1)*t.bp + (t.m-1)*t.bm
	if t.half != nil {
		_ = t.half[last+panel-1]
	} else {
		_ = t.b[last+(t.vecs-1)%2*vec+vec-1]
	}
}

// multiply runs t with an instruction set.
func (t *tile) multiply(on isa) {
	t.check()
	switch on {
	case avx512:
		t.call(&bySixteen)
	case avx2:
		t.call(&byEight)
	default:
		t.plain()
	}
}
