// Package quant packs weights and activations into block formats and back, and says which weights of a model are stored how.
//
// A block of numbers shares one scale. [Pack] finds the block's largest magnitude, turns it into a scale by
// a [Rule], divides by it and rounds to the small format, saturating; [Unpack] multiplies code and scale.
// The usual scales are powers of two, so that dividing by them is exact and only the rounding to the small
// format loses anything. Both engines, the converter and the checker of reference vectors use these
// functions and no others: what is packed twice is the same bytes.
//
// E4M3 has two flavours: [ToFNUZ] turns a weight into the one whose codes mean half as much, with twice the scale, so that it means the same
// numbers; the type of the tensor says which it is.
//
// A [Recipe] names the formats of a model's weights; [Recipe.Apply] gives parameters their quantised Values, and [ReadConfig] and
// [Stated.Check] hold a checkpoint's config.json against its tensors.
//
// Shapes: matrices [R, C] and stacks of them [E, R, C]; blocks tile each matrix from the top left and are cut at its edges. Where
// matrices are fused, one below the other, each is tiled by itself. A grid of scales is [..., ⌈R/rows⌉, ⌈C/cols⌉].
// Units: none; scales are E8M0 bytes or float32.
// Errors: a wrong shape or format panics; what comes from a name or a file is an error value. A block with a NaN or an infinity gets
// the scale NaN, so that it unpacks to NaN and can't pass unseen.
// Sources: the block sizes and rules are DeepSeek-V4's (E4M3 by 128x128 and 1x128, E2M1 by 1x32, scales
// rounded up, floors of the largest magnitude); [DownE2M1] is the rule of the OCP MX specification 1.0; docs/adr/0009-quantised-weights.md.
package quant
