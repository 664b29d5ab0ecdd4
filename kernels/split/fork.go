package split

import (
	"sync"

	"furlong/kernels"
)

// Fork calls f for 0 up to n on the threads of a [kernels.Forker], or else on a goroutine each, and returns when all have ended. No call may wait for another one, or panic.
func Fork(k kernels.Backend, n int, f func(i int)) {
	if forker, ok := k.(kernels.Forker); ok {
		forker.Fork(n, f)
		return
	}
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { f(i) })
	}
	all.Wait()
}
