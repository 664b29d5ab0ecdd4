// Package mathexpr reads answers as mathematical objects and says which are equal.
//
// An answer is text as people and models write it: LaTeX or plain, with units, percentages, words between items. [Equal]
// takes what surrounds it off ([Tidy]), reads it as an object and compares it with the gold answer, which is read in the same
// way. Objects are numbers, expressions, tuples and intervals, lists and sets, unions, matrices, relations, ratios and times
// of the clock, numbers in other bases, and texts. How two are compared follows from what they are: brackets and order
// matter for tuples, neither does for sets; a relation may be read from the other side; v = e stands for e.
//
// Two expressions are equal when their values are. Rational numbers are compared exactly, quotients of polynomials by
// their normal form; all else at fixed points, with floats of 256 bits and more and a bound on the error of every operation
// (a ball, [ball]), so that "different" is proved and "equal" means that no difference shows in half of the bits. A decimal
// never passes for a root: precision grows with the digits written.
//
// Where the gold answer is a numeric literal the answer must be one too (17*2 is not an answer for 34), unless
// [Rules] allow it.
//
// Shapes: a matrix holds its entries row by row.
// Units: angles in degrees are numbers with the unit degree outside of functions; a unit that one side alone names does not
// matter.
// Errors: a text that is no object is compared as text. Everything is bounded in steps and levels: what would take longer is
// unequal, and the result says so ([Result.Over]).
// Sources: the rules and their tests are ours. The error bounds of sums, products and quotients of balls are the usual ones of
// interval arithmetic; the series of exp, sin and arctan are Taylor's, π is Machin's.
package mathexpr
