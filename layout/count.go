package layout

import (
	"strconv"
	"strings"

	"furlong/dtype"
	"furlong/model/dsv4"
	"furlong/quant"
	"furlong/tensor"
)

// A Count is the parameters of a model, by what they are.
type Count struct {
	Experts    int64 `json:"routed_experts"`
	Shared     int64 `json:"shared_experts"`
	Attention  int64 `json:"attention"` // with compressors and indexers
	Vocabulary int64 `json:"embedding_and_head"`
	Routers    int64 `json:"routers"`
	Streams    int64 `json:"stream_mixers"`
	Norms      int64 `json:"norms"`
	Total      int64 `json:"total"`
	Active     int64 `json:"active_per_token"` // without the embedding's rows
}

// A Shape is the parameters of a model and where each belongs.
type Shape struct {
	cfg    dsv4.Config
	params []*tensor.Param
}

// ShapeOf returns the shape of a model.
func ShapeOf(cfg dsv4.Config) Shape { return Shape{cfg, dsv4.Shapes(cfg)} }

// Config returns the model's configuration.
func (s Shape) Config() dsv4.Config { return s.cfg }

// kind says which line of a Count a parameter belongs to; "" for what is no parameter: tables of routes.
func kind(name string) string {
	has := func(part string) bool { return strings.Contains(name, part) }
	switch {
	case has("tid2eid"):
		return ""
	case has("shared_experts"):
		return "shared"
	case has("mlp.experts"):
		return "experts"
	case has("mlp.gate"):
		return "router"
	case has("embed_tokens"), has("lm_head"):
		return "vocabulary"
	case has("hc"):
		return "streams"
	case has("layernorm"), name == "model.norm.weight":
		return "norm"
	}
	return "attention"
}

func size(p *tensor.Param) int64 {
	n := int64(1)
	for _, d := range p.Value.Shape {
		n *= int64(d)
	}
	return n
}

// Count counts a model's parameters.
func (s Shape) Count() Count {
	by := map[string]int64{}
	for _, p := range s.params {
		by[kind(p.Name)] += size(p)
	}
	c := Count{
		Experts: by["experts"], Shared: by["shared"], Attention: by["attention"], Vocabulary: by["vocabulary"],
		Routers: by["router"], Streams: by["streams"], Norms: by["norm"],
	}
	c.Total = c.Experts + c.Shared + c.Attention + c.Vocabulary + c.Routers + c.Streams + c.Norms
	c.Active = c.Total - c.Experts + c.Experts*int64(s.cfg.TopK)/int64(s.cfg.Experts) - int64(s.cfg.Vocab)*int64(s.cfg.Hidden)
	return c
}

// A part is parameters of a stage, by how ranks share them.
type part struct {
	split   int64 // dense, cut over tensor parallel ranks
	whole   int64 // dense, on every rank
	experts int64
}

// stage returns the parameters of layers first to last, with the embedding on the first stage and what comes after the layers on the last.
func (s Shape) stage(st Stage) part {
	var out part
	end := st.First+st.Layers == len(s.cfg.Layers)
	for _, p := range s.params {
		i, inLayer := layerOf(p.Name)
		here := inLayer && i >= st.First && i < st.First+st.Layers
		if !inLayer {
			here = strings.Contains(p.Name, "embed_tokens") == (st.First == 0) && (st.First == 0 || end)
			if st.First == 0 && end {
				here = true
			}
		}
		if !here {
			continue
		}
		switch k := kind(p.Name); {
		case k == "experts":
			out.experts += size(p)
		case isSplit(p.Name):
			out.split += size(p)
		case k != "":
			out.whole += size(p)
		}
	}
	return out
}

// isSplit reports whether tensor parallel ranks share a dense matrix: vocabulary, shared experts, and the projections whose rows or columns are heads.
func isSplit(name string) bool {
	k := kind(name)
	if k == "vocabulary" || k == "shared" {
		return true
	}
	own := k == "attention" && !strings.Contains(name, "compress") && !strings.Contains(name, "index")
	return own && (strings.Contains(name, "q_b_proj") || strings.Contains(name, "o_a_proj") || strings.Contains(name, "o_b_proj"))
}

// layerOf returns the number of the layer in a parameter's name.
func layerOf(name string) (int, bool) {
	rest, ok := strings.CutPrefix(name, "model.layers.")
	if !ok {
		return 0, false
	}
	n, _, _ := strings.Cut(rest, ".")
	i, err := strconv.Atoi(n)
	return i, err == nil
}

// stored returns the bytes of a model's weights in a format: all experts, dense matrices that tensor parallel ranks share, and the rest.
func (s Shape) stored(r quant.Recipe, plain dtype.Type) (experts, split, whole int64) {
	for _, p := range s.params {
		n := r.Bytes(p.Name, p.Value.Shape, plain)
		switch k := kind(p.Name); {
		case k == "experts":
			experts += n
		case isSplit(p.Name):
			split += n
		case k != "":
			whole += n
		}
	}
	return experts, split, whole
}
