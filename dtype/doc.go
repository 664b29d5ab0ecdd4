// Package dtype names the number formats that tensors are stored in, and turns them into float32 and back.
//
// Decoding is exact for every format. Encoding rounds to nearest, ties to even; where a format can't hold a
// large number, the plain cast (To...) says so with a NaN if the format has one, and the saturating cast
// (To...Sat) gives the largest number. Quantisers scale a block first and then saturate; the scale of a
// block is a power of two, whose byte [ScaleE8M0] chooses.
//
// Shapes: none; every function works on one number.
// Units: sizes are bytes; codes are the bits as they lie in a file, little endian.
// Errors: none; an unknown [Type] has size 0 and prints as type(n).
// Sources: E4M3 and E2M1 are the OCP formats (OFP8 1.0, MX 1.0); BF16 is the upper half of IEEE 754
// binary32; E8M0 is the MX scale byte. FNUZ is the flavour of E4M3 with bias 8 and one NaN that
// gfx942 devices have.
package dtype
