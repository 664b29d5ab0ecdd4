// Package split shares work out among the parts of a split backend: work that is many small pieces, for each of which a fork would cost more than it gives.
//
// [Share] hands pieces to the parts one by one. A [Finish] is where parts that are done wait for the others; meanwhile they run chunks of the others'
// kernels, if the backend is a [kernels.Lender]. Which part does a piece changes no bit: a row's result depends on nothing but the row.
//
// [Fork] runs a few large pieces that know where they compute, such as the lanes of a pass.
//
// Errors: a panic of a piece comes out of Share.
// Sources: ours.
package split
