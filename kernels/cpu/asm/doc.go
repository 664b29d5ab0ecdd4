// Package asm holds the functions of the cpu backend for AVX2 and, with Wide in their names, for AVX-512. Most of it is written by gen.
//
// Functions check nothing: package cpu checks slices and passes the address of the first element. One call
// stays under about 50 microseconds where its operands are near, since assembly cannot be interrupted and the garbage collector would wait for it.
//
// Shapes: the products Gemm RxC compute n tiles of R rows by C columns, one below the other, and m such stacks side by side: c is
// row after row cs bytes apart; a[r, k] is at r*as + k*ak, and a tile's at bytes behind the one before; b[k] is at k*bk with
// panels of sixteen columns bp apart, and a stack's bm behind the one before. Bit 0 of mode starts the chains
// from c, bit 1 adds what c held at the end. What lies ahead of b is asked for early, pace bytes in each step. H stands for
// panels of bfloat16.
// Sizes: tmp of the maps is as many numbers as mapMemory of package cpu says.
// Units: strides are bytes, counts are elements.
// Errors: none.
// Sources: ours.
package asm

//go:generate go run -C gen . ..
