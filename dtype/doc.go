// Package dtype names the number formats that tensors are stored in, and turns them into float32 and back.
//
// Shapes: none; every function works on one number or on a flat slice.
// Units: sizes are bytes; codes are the bits as they lie in a file, little endian.
// Errors: none; an unknown [Type] has size 0 and prints as type(n).
// Sources: E4M3 and E2M1 are the OCP formats (OFP8 1.0, MX 1.0); BF16 is the upper half of IEEE 754
// binary32; E8M0 is the MX scale byte.
package dtype
