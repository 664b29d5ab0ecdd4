package taps

import "furlong/checkpoint/safetensors"

// FromFile returns the taps of a file that is open, which stays the caller's: see [Read].
func FromFile(f *safetensors.File, tokens []int32) (*Set, error) { return read(f, tokens) }
