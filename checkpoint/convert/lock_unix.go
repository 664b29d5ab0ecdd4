//go:build unix

package convert

import (
	"fmt"
	"os"
	"syscall"
)

// lock takes f for this process; the lock ends with the process, however that ends.
func lock(f *os.File) error {
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("is another process writing there? %w", err)
	}
	return nil
}
