package kv

import "fmt"

// An allocator counts who holds each page of a class: sequences by their page tables, the cache by its nodes. A page whose last
// holder lets go is free. A page that only the cache holds is idle: the cache can be made to give it up.
type allocator struct {
	refs   []int32 // holders of each page, the cache counted once
	cached []bool
	free   []int32
	idle   int
}

func newAllocator(n int) allocator {
	a := allocator{refs: make([]int32, n), cached: make([]bool, n), free: make([]int32, n)}
	for i := range a.free {
		a.free[i] = int32(n - 1 - i) // page 0 is taken first
	}
	return a
}

// take returns a page with one holder, or false.
func (a *allocator) take() (int32, bool) {
	n := len(a.free)
	if n == 0 {
		return 0, false
	}
	p := a.free[n-1]
	a.free = a.free[:n-1]
	a.refs[p] = 1
	return p, true
}

// hold adds a holder.
func (a *allocator) hold(p int32) {
	if a.cached[p] && a.refs[p] == 1 {
		a.idle--
	}
	a.refs[p]++
}

// drop removes a holder.
func (a *allocator) drop(p int32) {
	a.refs[p]--
	switch {
	case a.refs[p] < 0:
		panic(fmt.Sprintf("kv: page %d dropped by nobody", p))
	case a.refs[p] == 0:
		a.free = append(a.free, p)
	case a.refs[p] == 1 && a.cached[p]:
		a.idle++
	}
}

// keep makes the cache a holder of a page that a sequence holds.
func (a *allocator) keep(p int32) {
	if a.cached[p] {
		panic(fmt.Sprintf("kv: page %d cached twice", p))
	}
	a.hold(p)
	a.cached[p] = true
}

// forget ends the cache's hold.
func (a *allocator) forget(p int32) {
	if a.refs[p] == 1 {
		a.idle--
	}
	a.cached[p] = false
	a.drop(p)
}
