// Package arithmetic makes the problems of the recipe tiny-arithmetic, their worked solutions, and a careless teacher.
//
// A [Problem] is two or three operations on two-digit numbers, worked out one after the other:
//
//	78-51+43+12=    78-51=27 27+43=70 70+12=\boxed{82}
//
// A warm start imitates a [Teacher] who works column by column from the right and often forgets what is carried to the
// next. The pupil therefore starts mediocre and has something real to find by trial: that carrying pays. One problem in
// eight is held out by a hash of its prompt, so that training and evaluation never meet. All draws come from a seeded
// [Stream]; the same seed gives the same problems on every machine.
//
// Shapes: a prompt has 8 to 12 bytes; a right response 24 to 40 tokens, its end token included.
// Units: probabilities from 0 to 1; numbers are whole, running results from 0 to 999 where nothing was forgotten.
// Errors: only for what a caller hands in: a state of another stream, a prompt that is no problem, more held-out problems
// than there are.
// Sources: ours; the figures in the tests were measured when the recipe was designed. FNV-1a is the hash of Fowler, Noll and Vo, 64 bits.
package arithmetic
