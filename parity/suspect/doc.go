// Package suspect is the library of mistakes that engines of this model are known to make.
//
// Where two engines differ first is one thing, what one of them does there another. Most of it has been done before: public bring-ups of the model fixed the same few
// dozen mistakes, one after the other. Each is here as a [furlong/parity/diverge.Suspect]: a sentence, the ops at which it can show first, and a way to make
// it in a judge, on any model, backend and format. A judge that makes the mistake, too, starts each op from what the other side recorded; if then
// nothing is left of the difference, that is what the other side does. If no mistake fits, none is named; if several do, all are.
//
// A mistake is made without touching the judge's weights, and without copying them: kernels compute something else where it applies, the model is
// entered through a shell that knows which op comes next, choices are written over before anything follows from them, or attention state is seen otherwise. What a
// mistake needs of other values of a weight it makes when that weight is read, in the one layer that runs.
//
// Shapes: as in package kernels.
// Units: as in package kernels.
// Errors: none; a mistake that can't be made in a model says so.
// Sources: the traps of public ports of the model, and ours; docs/formats/oracle.md and docs/parity.md tell what each amounts to.
package suspect
