// Package quant packs weights and activations into block formats and back.
//
// A block of numbers shares one scale. Packing finds the block's largest magnitude, turns it into a scale by
// a [Rule], divides by it and rounds to the small format, saturating; unpacking multiplies code and scale.
// The usual scales are powers of two, so that dividing by them is exact and only the rounding to the small
// format loses anything. Both engines, the converter and the checker of reference vectors use these
// functions and no others: what is packed twice is the same bytes.
//
// Shapes: matrices [R, C]; blocks tile them from the top left and are cut at the edges; the grid of scales
// is [⌈R/rows⌉, ⌈C/cols⌉].
// Units: none; scale bytes are E8M0.
// Errors: a wrong shape or format panics. A block with a NaN or an infinity gets the scale NaN, so that it
// unpacks to NaN and can't pass unseen.
// Sources: the block sizes and rules are DeepSeek-V4's (E4M3 by 128x128 and 1x128, E2M1 by 1x32, scales
// rounded up, floors of the largest magnitude); [DownE2M1] is the rule of the OCP MX specification 1.0.
package quant
