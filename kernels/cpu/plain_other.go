//go:build !amd64

package cpu

import "runtime"

// detect returns the best vector unit of the machine.
func detect() vector { return plain{} }

// pause gives the processor away: there is no instruction for less.
func pause(int) { runtime.Gosched() }
