package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"furlong/kernels"
	"furlong/kernels/ref"
	"furlong/tensor"
)

// against runs f with the reference and with every backend of units, each on copies of the gradients, and wants the same bits.
func against(t *testing.T, name string, grads []*tensor.Tensor, f func(k kernels.Backend, grads []*tensor.Tensor)) {
	t.Helper()
	clones := func() (c []*tensor.Tensor) {
		for _, g := range grads {
			c = append(c, g.Clone())
		}
		return c
	}
	wants := clones()
	f(ref.New[float32](), wants)
	for unit, b := range units(t) {
		got := clones()
		f(b, got)
		for i := range wants {
			same(t, fmt.Sprintf("%s, %s, result %d", name, unit, i), got[i], wants[i])
		}
	}
}

func TestLastCollapse(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	p := kernels.HyperParams{Eps: 1e-6, NormEps: 1e-6, Iters: 1}
	for _, rows := range []int{0, 1, 8, 13, 70} {
		z, x, base, scale := random(r, rows, 4), random(r, rows, 4, 24), random(r, 4), random(r, 1)
		dpre := random(r, rows, 4)
		name := fmt.Sprint(rows, " tokens")
		against(t, name, []*tensor.Tensor{poisoned(rows, 4)}, func(k kernels.Backend, out []*tensor.Tensor) {
			k.HyperMap(out[0], nil, nil, z, x, base, scale, p)
		})
		grads := []*tensor.Tensor{random(r, rows, 4), random(r, rows, 4, 24), random(r, 4), random(r, 1)}
		against(t, name+" backward", grads, func(k kernels.Backend, g []*tensor.Tensor) {
			k.HyperMapBackward(g[0], g[1], g[2], g[3], dpre, nil, nil, z, x, base, scale, p)
		})
	}
}

// viewOf lets each query read some rows, at times none, at times one twice.
func viewOf(r *rand.Rand, pool *tensor.Tensor, queries, most int) kernels.View {
	v := kernels.View{Pool: pool}
	for range queries {
		v.Lo = append(v.Lo, int32(len(v.Rows)))
		for range r.IntN(most + 1) {
			v.Rows = append(v.Rows, int32(r.IntN(pool.Shape[0])))
		}
		v.Hi = append(v.Hi, int32(len(v.Rows)))
	}
	return v
}

// TestAttendGroups has heads that don't fill a group, and two views that share a pool and its gradient.
func TestAttendGroups(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, s := range [][4]int{{9, 5, 16, 7}, {30, 4, 72, 40}, {40, 6, 8, 3}, {21, 11, 24, 9}} {
		queries, heads, dim, most := s[0], s[1], s[2], s[3]
		pool, far := random(r, 12, dim), random(r, 40, dim)
		views := []kernels.View{viewOf(r, pool, queries, most), viewOf(r, far, queries, most), viewOf(r, pool, queries, 3)}
		q, sink, do := random(r, queries, heads*dim), random(r, heads), random(r, queries, heads*dim)
		o, lse := poisoned(queries, heads*dim), poisoned(queries, heads)
		name := fmt.Sprint(s)
		against(t, name, []*tensor.Tensor{o, lse}, func(k kernels.Backend, out []*tensor.Tensor) {
			k.Attend(out[0], out[1], q, sink, heads, views...)
		})
		ref.New[float32]().Attend(o, lse, q, sink, heads, views...)
		grads := []*tensor.Tensor{random(r, queries, heads*dim), random(r, heads), random(r, 12, dim), random(r, 40, dim)}
		against(t, name+" backward", grads, func(k kernels.Backend, g []*tensor.Tensor) {
			k.AttendBackward(g[0], g[1], []*tensor.Tensor{g[2], g[3], g[2]}, do, o, lse, q, sink, heads, views...)
		})
	}
}

// TestAttendManyBlocks has more queries than one block of coefficients holds, and rows that runs of queries share.
func TestAttendManyBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	const queries, heads, dim = 700, 4, 16
	pool, q, sink, do := random(r, queries, dim), random(r, queries, heads*dim), random(r, heads), random(r, queries, heads*dim)
	near, far := sliding(pool, queries, 100), viewOf(r, random(r, 50, dim), queries, 9)
	o, lse := poisoned(queries, heads*dim), poisoned(queries, heads)
	ref.New[float32]().Attend(o, lse, q, sink, heads, near, far)
	grads := []*tensor.Tensor{random(r, queries, heads*dim), random(r, heads), random(r, queries, dim), random(r, 50, dim)}
	against(t, "blocks", grads, func(k kernels.Backend, g []*tensor.Tensor) {
		k.AttendBackward(g[0], g[1], g[2:], do, o, lse, q, sink, heads, near, far)
	})
}

func TestIndexOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	nan := float32(math.NaN())
	for _, n := range []int{1, 9, 40, 300, 700} {
		scores := make([]float32, (n+7)&^7+8)
		rows := make([]int32, n)
		for i := range rows {
			rows[i] = int32(1000 - i)
			scores[i] = []float32{nan, -1, 0, float32(math.Copysign(0, -1)), 2, 3, float32(r.NormFloat64()), float32(math.Inf(1))}[r.IntN(8)]
		}
		for _, keep := range []int{0, 1, n / 2, n - 1} {
			order := make([]int, n)
			for i := range order {
				order[i] = i
			}
			slices.SortStableFunc(order, func(i, j int) int {
				if a, b := scores[i], scores[j]; a > b || a == a && b != b {
					return -1
				} else if b > a || b == b && a != a {
					return 1
				}
				return 0
			})
			best := slices.Sorted(slices.Values(order[:keep]))
			got := make([]int32, keep)
			mem := new(scratch)
			mem.reset()
			m := newIndexMemory(len(scores), 8, mem)
			copy(m.scores, scores)
			m.best(got, rows)
			for i, j := range best {
				if got[i] != rows[j] {
					t.Fatalf("%d of %d: place %d is row %d, want %d", keep, n, i, got[i], rows[j])
				}
			}
		}
	}
}

// TestBadRows wants a row outside of its pool named before it is read.
func TestBadRows(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	b := open(Options{Threads: 2, Sleepy: true}, best())
	defer b.Close()
	pool, x := random(r, 20, 16), random(r, 1, 64)
	for _, bad := range []int32{20, -1, math.MaxInt32} {
		v := kernels.View{Pool: pool, Lo: []int32{0}, Hi: []int32{12}, Rows: make([]int32, 12)}
		for _, at := range []int{2, 11} {
			clear(v.Rows)
			v.Rows[at] = bad
			for name, f := range map[string]func(){
				"attend":      func() { b.Attend(x.Clone(), random(r, 1, 4), x, random(r, 4), 4, v) },
				"index top k": func() { b.IndexTopK(x, random(r, 1, 4), 4, v, 3) },
				"combine":     func() { b.Combine(random(r, 6, 16), pool.Slice(0, 12), v.Rows, 2) },
			} {
				func() {
					defer func() {
						if s := fmt.Sprint(recover()); !strings.Contains(s, fmt.Sprintf("row %d of", bad)) {
							t.Errorf("%s with row %d at %d: recovered %.60q, want it named", name, bad, at, s)
						}
					}()
					f()
				}()
			}
		}
	}
}
