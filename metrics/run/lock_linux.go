package run

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// Commands of fcntl(2) for locks that belong to an open file and not to a process. Package syscall does not name them.
const (
	ofdGetLock = 36 // F_OFD_GETLK
	ofdSetLock = 37 // F_OFD_SETLK
)

// tryLock locks the whole of f for this open file, and reports whether nobody else had it. The kernel unlocks when f is closed or the process ends.
func tryLock(f *os.File) (bool, error) {
	err := syscall.FcntlFlock(f.Fd(), ofdSetLock, &syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart})
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
		return false, nil
	}
	return err == nil, err
}

// locked reports whether somebody holds the lock of f. It takes nothing.
func locked(f *os.File) (bool, error) {
	l := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
	err := syscall.FcntlFlock(f.Fd(), ofdGetLock, &l)
	return l.Type != syscall.F_UNLCK, err
}
