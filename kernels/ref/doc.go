// Package ref is the oracle: every kernel as one plain loop, and the scalar functions whose bits are the contract.
//
// A [Backend] of float32 says what every other backend of the CPU class must compute, bit for bit. A Backend of
// float64 is the same code in double precision; finite differences and comparisons with published numbers use it.
// num.go and its neighbours hold the arithmetic that a vector backend repeats lane by lane: [FMA], [Dot8], [Exp], [Log] and what is
// made of them. Each of them has one explicit order: where two operations must stay apart the product stands in a
// conversion, F(a*b) + c, and where they must be one the code calls FMA. Compilers then have nothing to choose.
//
// Shapes: as package kernels states them; letters T, D, H, S, N, K, E, R, V likewise. Trailing axes may be grouped in another way: [T, S, D]
// passes for [T, S*D].
// Units: logits and logprobs in nats; angles in radians.
// Errors: a wrong shape, or a weight that was never prepared, panics: "linear: weight [4, 64] was not prepared".
// Sources: two-sum is Knuth's; rounding to odd before a second rounding is Boldo and Melquiond 2008; the
// coefficients of the polynomials are minimax fits of our own.
package ref
