// Package optim updates weights: AdamW over float32 masters, a global gradient clip, and learning-rate schedules.
//
// A weight kept in BF16 has a float32 master here; each step moves the master and rounds it into the weight. Where the
// weight is F32 it is its own master. All loops are elementwise, so their result does not depend on how
// many goroutines share them; the gradient norm is one float64 sum in the order of the parameters.
//
// Shapes: those of the parameters.
// Units: learning rate per step; weight decay per unit of learning rate.
// Errors: settings are checked by Validate; loading a state of another model is an error that names the tensor.
// Sources: AdamW is algorithm 2 of arXiv:1711.05101, with the decay applied before the step and eps outside the root, as Megatron and torch do.
package optim
