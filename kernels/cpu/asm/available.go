package asm

import "golang.org/x/sys/cpu"

// Available reports whether this machine can run the functions for AVX2.
func Available() bool { return cpu.X86.HasAVX2 && cpu.X86.HasFMA }

// Wide reports whether it can run those with Wide in their names too, which are for AVX-512.
func Wide() bool {
	x := &cpu.X86
	return Available() && x.HasAVX512F && x.HasAVX512VL && x.HasAVX512BW && x.HasAVX512DQ
}
