// Package hf reads and writes DeepSeek-V4 weights in the layouts that Hugging Face checkpoints have.
//
// One model has four spellings. The parameters in memory are named as transformers names its modules, with
// the experts of a layer fused; released files name each expert and have short names; transformers saves a
// mixture of the two; and weight streams to rollout engines have a fourth. A [Scheme] is a spelling, and
// [Pieces] says of which tensors of a scheme a parameter consists. Loading and saving are loops over the
// pieces, so that a tensor nobody reads and a parameter nobody fills are both errors, by name.
//
// A weight may be stored as numbers, or as codes with a tensor of scales beside them ([Weight]). Its own format decides, and must agree
// with config.json; [Convert] brings it to the format that is wanted, and says how and at what cost. [Look] surveys a checkpoint
// without knowing the model.
//
// Shapes: as the parameters have them; experts are [E, 2I, D] (gate rows, then up rows) and [E, D, I] in
// memory, and [I, D], [I, D], [D, I] each in a file.
// Units: sizes are bytes.
// Errors: values; all that is wrong with a checkpoint comes at once, before any parameter is written to.
// Sources: the released DeepSeek-V4-Flash index and inference program; transformers 5.17 modules and
// save_pretrained; the names that SGLang's weight update takes.
package hf
