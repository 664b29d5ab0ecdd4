//go:build !linux

package tensor

// askLargePages does nothing: the system decides for itself.
func askLargePages(uintptr, int) error { return nil }
