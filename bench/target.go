package bench

// A target is a figure to compare with, in tokens per second.
type target struct {
	work, shape string
	peer, want  float64
}

// targets are for the tiny model in float32 on two threads of an AVX2 processor. The peer is the public DeepSeek-V4 implementation of the
// transformers library (5.17, torch 2.11), in its best variant, on the same kind of machine.
var targets = []target{
	{Generate, "prompt 64, 48 new, batch 1", 53, 2000},
	{Generate, "prompt 64, 48 new, batch 16", 580, 12000},
	{Generate, "prompt 64, 48 new, batch 64", 1137, 25000},
	{Score, "8x256", 5816, 40000},
	{Train, "8x256", 2700, 14000},
	{Train, "4x1024", 1039, 13000},
}

// compare notes what a result is to be compared with. Other models, formats and shapes have nothing.
func (b *bencher) compare(r *Result) {
	if b.cfg.Model != "tiny" || b.cfg.Format != "f32" {
		return
	}
	for _, t := range targets {
		if t.work == r.Work && t.shape == r.Shape {
			r.Peer, r.Target = t.peer, t.want
		}
	}
}
