//go:build !amd64

package asm

// missing is what the functions say on machines that cannot run them.
const missing = "asm: no assembly for this machine"
