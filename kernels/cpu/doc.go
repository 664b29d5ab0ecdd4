// Package cpu is the fast backend: packed weights, vector code, and all cores, for the bits of kernels/ref.
//
// Three parts make it. A [Backend] cuts each kernel's outputs into chunks; no sum is ever cut. A pool runs chunks on
// the calling goroutine and on helpers. A chunk's arithmetic is assembly for AVX2 (package asm,
// written by a generator) where the machine has it and the rows are whole vectors of eight; else it is Go: for
// products a loop of our own, for the rest kernels/ref. Where there is AVX-512, products, attention, hyper-connections, gates and
// what norms scale take it (isa.go). Vector lanes hold different outputs, or the eight lanes of the
// contract's row sums, so both give the same bits.
//
// Products of all three kinds (forward, input gradient, weight gradient) are one loop over tiles: up to six rows by
// sixteen columns of accumulators in registers, or by sixty-four with AVX-512. [Backend.Prepare] packs a weight into panels of sixteen columns.
// A quantised weight stays codes there, and becomes float32 on the way into registers where few rows read it, else into a piece in the
// cache.
//
// Shapes: as package kernels states them. Sizes inside are in elements, in asm in bytes.
// Units: logits and logprobs in nats; angles in radians.
// Errors: a wrong shape, or a weight that was never prepared, panics before any chunk runs; a panic inside a chunk comes out of
// the call that made it.
// Sources: the blocking follows Goto and van de Geijn 2008; the tiles are ours.
package cpu
