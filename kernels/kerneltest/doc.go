// Package kerneltest is the suite that every backend passes.
//
// A [kernels.Backend] of the CPU class computes the bits of kernels/ref, so nothing here has a tolerance: numbers are equal when their
// bits are, or when both are NaN, since which NaN comes out of a sum is no part of the contract. Each kernel is described once, as a call, and a
// call is held against everything that must not matter:
//
//   - another backend: the outputs and gradients of ref on float32;
//   - what the outputs held before: they are filled with a NaN of known bits, which must also survive in rows not asked for;
//   - the other rows: a row alone and among 7 equals the row among all; an empty batch is no accident;
//   - micro-batches: the gradients of two parts, one after the other, are those of the whole;
//   - gradients that nobody wants, each left out in turn;
//   - where the rows of a pool lie, and what lies in rows that nobody reads;
//   - threads, and other goroutines in the same backend.
//
// And a call with one size changed must panic, saying what it wants.
//
// Shapes: odd on purpose; every tail length of a tile occurs.
// Units: none.
// Errors: through testing.T, one line a difference: the call, the tensor, the first element that differs.
// Sources: ours.
package kerneltest
