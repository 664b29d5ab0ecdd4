// Package layout says how a job is spread over machines and devices, and estimates what each device has to hold.
//
// A job is two sets of devices: those that train, cut into pipeline stages, each stage shared by expert, tensor, context and data parallel ranks; and those
// that generate, cut into engines. [Config] is what a launch line says of both, [Config.Plan] the ranks and stages that follow, [Plan.Train] and
// [Plan.Rollout] the bytes, [Plan.Pack] the micro-batches of a step. Without devices there is one process on the processor of one machine, and the same sums hold for it.
//
// Estimates are sums of products of shapes, and say so: each part has its formula beside it. Two constants are not derived from shapes: what a layer needs
// while its gradient is computed, and what libraries of a device take. They are marked as such, and no run has confirmed them.
//
// Shapes: none are computed on; those of the model are read from its configuration.
// Units: bytes, in decimal units where they are printed; parameters; tokens.
// Errors: a layout that does not divide is an error in the words of the flags.
// Sources: the sharding is that of Megatron's tp-cp-ep-dp-pp order; expert parallel ranks are cut out of a stage's ranks.
package layout
