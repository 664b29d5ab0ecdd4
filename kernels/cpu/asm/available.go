package asm

import "golang.org/x/sys/cpu"

// Available reports whether this machine can run the functions.
func Available() bool { return cpu.X86.HasAVX2 && cpu.X86.HasFMA }
