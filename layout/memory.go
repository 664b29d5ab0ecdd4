package layout

import (
	"furlong/dtype"
	"furlong/quant"
)

// A Part is one line of an estimate.
type Part struct {
	Name    string `json:"name"`
	Bytes   int64  `json:"bytes"`
	Formula string `json:"formula"`
	Guess   bool   `json:"guess,omitempty"` // it has a constant that no run has confirmed
}

// A Load is what one device of a stage or an engine holds.
type Load struct {
	Stage int    `json:"stage"` // -1 for a rollout engine
	Parts []Part `json:"parts"`
	Total int64  `json:"total"`
}

func (l *Load) add(name string, bytes float64, formula string) {
	l.Parts = append(l.Parts, Part{Name: name, Bytes: int64(bytes), Formula: formula})
	l.Total += int64(bytes)
}

func (l *Load) guess(name string, bytes float64, formula string) {
	l.add(name, bytes, formula)
	l.Parts[len(l.Parts)-1].Guess = true
}

// A Job is what memory depends on besides layout and model.
type Job struct {
	Tokens    int  // of a micro-batch
	Recompute bool // layers keep only their input for the gradient
	Weights   dtype.Type
	Frozen    int // models beside the actor that are not trained: a reference policy, a teacher
	Trained   int // and that are: a critic

	Running     int // samples that an engine generates at a time
	Length      int // prompt plus response, in tokens
	TotalTokens int // whose attention state an engine holds; 0 for Running times Length
	Format      quant.Recipe
	KV          string // auto or fp8_e4m3
}

// Constants that are no products of shapes: what was seen on models of this kind elsewhere.
const (
	transientFlash = 1.2e6  // bytes a token while one layer of Flash is computed again and its gradient taken
	keptFlash      = 0.55e6 // bytes a token and layer of Flash, where layers keep everything
	reserve        = 14e9   // of a device: libraries, communicators, fragments
)

// Train estimates what a device of each stage holds in training.
func (p Plan) Train(s Shape, j Job) []Load {
	var out []Load
	for i, st := range p.Stages {
		out = append(out, p.stage(s, j, i, st))
	}
	return out
}

func (p Plan) stage(s Shape, j Job, i int, st Stage) Load {
	n := s.stage(st)
	d := float64(n.split)/float64(p.Tensor) + float64(n.whole)
	e := float64(n.experts) / float64(p.Expert*p.ExpertTensor)
	dense, experts := d/float64(p.Data*p.Context), e/float64(p.ExpertData)
	width, cfg := float64(j.Weights.Bytes(1)), s.cfg
	tokens, inFlight := float64(j.Tokens)/float64(p.Context), float64(p.Pipeline-i)

	l := Load{Stage: i}
	l.add("weights", width*(d+e), "bytes of --dtype times (dense d + experts e): d = split/tp + whole, e = experts/(ep*etp)")
	l.add("gradients", 4*(d+e), "4 bytes (float32) times (d + e)")
	l.add("optimizer", 12*(1-p.offload)*(dense+experts), "12 bytes (float32 master and two moments) times (d/(dp*cp) + e/edp), but for what is offloaded")
	if j.Frozen+j.Trained > 0 {
		l.add("models beside", float64(j.Frozen)*width*(d+e)+float64(j.Trained)*((width+4)*(d+e)+12*(dense+experts)),
			"weights of a reference policy and of a teacher, and all that a critic has besides")
	}
	if j.Recompute {
		l.add("kept activations", inFlight*float64(st.Layers)*tokens*float64(cfg.Streams*cfg.Hidden*2),
			"micro-batches in flight times layers of the stage times tokens/cp times streams times hidden times 2 bytes")
		l.guess("transient", transientFlash*s.scale()*tokens, "1.2 MB a token at the widths of DeepSeek-V4 Flash, scaled by this model's")
	} else {
		l.guess("kept activations", keptFlash*s.scale()*inFlight*float64(st.Layers)*tokens,
			"0.55 MB a token and layer at the widths of DeepSeek-V4 Flash, scaled by this model's, times layers and micro-batches in flight")
	}
	if i == len(p.Stages)-1 {
		l.add("logits", tokens*float64(cfg.Vocab)/float64(p.Tensor)*10, "tokens/cp times vocabulary/tp times 10 bytes (BF16, float32, its gradient)")
	}
	if p.Devices > 0 {
		l.guess("reserve", reserve, "14 GB for libraries, communicators and fragments")
	}
	return l
}

// scale returns the widths of a layer over those of Flash: queries and heads' outputs, rows of experts, streams.
func (s Shape) scale() float64 {
	width := func(heads, headDim, topK, hidden, expertDim, streams int) float64 {
		return float64(14*heads*headDim + 4*topK*(2*hidden+3*expertDim) + 8*streams*hidden)
	}
	c := s.cfg
	return width(c.Heads, c.HeadDim, c.TopK, c.Hidden, c.ExpertDim, c.Streams) / width(64, 512, 6, 4096, 2048, 4)
}

// Offloaded estimates the optimizer state that the memory of a training machine holds.
func (p Plan) Offloaded(s Shape) int64 {
	var all float64
	for _, st := range p.Stages {
		n := s.stage(st)
		all += float64(n.split + n.whole + n.experts)
	}
	return int64(12 * p.offload * all / float64(p.TrainMachines))
}

// Rollout estimates what a device of a rollout engine holds.
func (p Plan) Rollout(s Shape, j Job) Load {
	experts, split, whole := s.stored(j.Format, j.Weights)
	l := Load{Stage: -1}
	l.add("weights", float64(experts)/float64(p.EngineExpert)+float64(split)/float64(p.EngineTensor)+float64(whole),
		"experts/ep + split/tp + whole, in --rollout-format with its scales")
	tokens := j.TotalTokens
	if tokens == 0 {
		tokens = j.Running * j.Length
	}
	perToken, perSample := s.Attention(j.KV, j.Weights)
	l.add("attention state of tokens", float64(tokens)*perToken, "tokens times, of a layer with entries, one entry (and its key, where an indexer chooses) over its rate")
	l.add("attention state of samples", float64(j.Running)*perSample, "samples at a time times layers times window times one entry, and the open blocks of compressors in float32")
	if p.Devices > 0 {
		l.guess("reserve", reserve/2, "7 GB for libraries and captured graphs")
	}
	return l
}

// Attention returns the bytes of attention state: of a token for good, and of a sample besides.
func (s Shape) Attention(kv string, plain dtype.Type) (perToken, perSample float64) {
	c := s.cfg
	width := float64(plain.Bytes(1))
	entry, key := float64(c.HeadDim)*width, float64(c.IndexDim)*width
	if kv == "fp8_e4m3" {
		unrotated := c.HeadDim - c.RopeDim
		entry = float64(unrotated+2*c.RopeDim) + float64((unrotated+63)/64+1)
		key = float64(c.IndexDim + 4)
	}
	for _, l := range c.Layers {
		perSample += float64(c.Window) * entry
		switch l.Attention.String() {
		case "compressed_sparse_attention":
			perToken += (entry + key) / float64(c.RateC4)
			perSample += float64(2*c.RateC4) * 2 * 2 * float64(c.HeadDim+c.IndexDim) * 4
		case "heavily_compressed_attention":
			perToken += entry / float64(c.RateC128)
			perSample += float64(c.RateC128) * 2 * float64(c.HeadDim) * 4
		}
	}
	return perToken, perSample
}

// Fits reports whether a load fits into a device; always where its memory is not told.
func (p Plan) Fits(l Load) bool { return p.memory == 0 || l.Total <= p.memory }
