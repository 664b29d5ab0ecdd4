//go:build unix

package pull

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// wait takes f for this process; the lock ends when f is closed or the process ends.
func wait(ctx context.Context, f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
