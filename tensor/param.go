package tensor

// A Param is a named weight.
type Param struct {
	Name  string  // as Hugging Face names it in memory: model.layers.3.self_attn.kv_proj.weight
	Value *Tensor // what forward passes read
	Grad  *Tensor // F32 (F64 under the F64 reference), the shape of Value; nil when nothing trains it

	Product bool // read by matrix products: kernels.Backend.Prepare derives its layout
	Rounds  bool // its products take their other operand rounded to E4M3, in groups of 128 along a row that share a power of two
	Frozen  bool // never trained: routing tables, correction biases, the indexer; a Grad is never made for it
	Decay   bool // weight decay applies (matrices, but not hyper-connection maps or position biases)
}
