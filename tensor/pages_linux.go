package tensor

import "syscall"

const adviceHuge = 14 // MADV_HUGEPAGE of madvise(2)

// askLargePages asks the kernel to keep n bytes from address at in large pages. It may refuse: then memory is only slower.
func askLargePages(at uintptr, n int) error {
	lo, hi := largePages(at, n)
	if _, _, errno := syscall.Syscall(syscall.SYS_MADVISE, lo, hi-lo, adviceHuge); errno != 0 {
		return errno
	}
	return nil
}
