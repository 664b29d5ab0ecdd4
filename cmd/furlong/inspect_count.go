package main

import (
	"fmt"
	"strconv"
	"strings"

	"furlong/checkpoint"
	"furlong/dtype"
	"furlong/model/dsv4"
)

// count adds up sizes and parameters.
func (m *modelContents) count(src checkpoint.Source, names []string) {
	at := map[dtype.Type]int{}
	for _, name := range names {
		info, _ := src.Info(name)
		i, ok := at[info.Type]
		if !ok {
			i, at[info.Type] = len(m.Formats), len(m.Formats)
			m.Formats = append(m.Formats, formatContents{Format: info.Type.String()})
		}
		f := &m.Formats[i]
		f.Tensors, f.Numbers, f.Bytes = f.Tensors+1, f.Numbers+elements(info), f.Bytes+info.Bytes()
		m.Tensors, m.Bytes = m.Tensors+1, m.Bytes+info.Bytes()
		m.countParameters(src, name, info)
	}
}

// countParameters adds a tensor's parameters to the sums that they belong to.
func (m *modelContents) countParameters(src checkpoint.Source, name string, info checkpoint.Info) {
	n := parameters(src, name, info)
	if m.Config == nil {
		m.Parameters += n
		return
	}
	switch {
	case isDraft(name, len(m.Config.Layers)):
		m.Draft += n
		return
	case strings.Contains(name, ".experts."):
		m.Active += n / int64(m.Config.Experts) * int64(m.Config.TopK)
	case !isEmbedding(name):
		m.Active += n
	}
	m.Parameters += n
}

// parameters returns how many parameters a tensor holds: none in a routing table or in the scales of another tensor, two in each byte of
// FP4 codes that are typed as bytes.
func parameters(src checkpoint.Source, name string, info checkpoint.Info) int64 {
	_, scaled := src.Info(strings.TrimSuffix(name, ".weight") + ".scale")
	_, scaledInv := src.Info(name + "_scale_inv")
	_, scales := src.Info(strings.TrimSuffix(name, ".scale") + ".weight")
	_, scalesInv := src.Info(strings.TrimSuffix(name, "_scale_inv"))
	switch {
	case info.Type == dtype.I32 || info.Type == dtype.I64:
		return 0
	case strings.HasSuffix(name, ".scale") && scales, strings.HasSuffix(name, "_scale_inv") && scalesInv:
		return 0
	case (info.Type == dtype.I8 || info.Type == dtype.U8) && (scaled || scaledInv):
		return 2 * elements(info)
	}
	return elements(info)
}

func elements(info checkpoint.Info) int64 {
	n := int64(1)
	for _, s := range info.Shape {
		n *= int64(s)
	}
	return n
}

func isEmbedding(name string) bool {
	return name == "embed.weight" || name == "model.embed_tokens.weight"
}

// isDraft reports whether a tensor belongs to a layer beyond the model's.
func isDraft(name string, layers int) bool {
	name = strings.TrimPrefix(name, "model.")
	if strings.HasPrefix(name, "mtp.") {
		return true
	}
	rest, ok := strings.CutPrefix(name, "layers.")
	number, _, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(number)
	return ok && err == nil && n >= layers
}

// A layerKind is the layers of a model that have one attention and one router.
type layerKind struct {
	layer  dsv4.Layer
	number []int
}

// layerKinds groups layers, kinds in the order of their first.
func layerKinds(layers []dsv4.Layer) (out []layerKind) {
	at := map[dsv4.Layer]int{}
	for i, l := range layers {
		k, ok := at[l]
		if !ok {
			k, at[l] = len(out), len(out)
			out = append(out, layerKind{layer: l})
		}
		out[k].number = append(out[k].number, i)
	}
	return out
}

// spans writes ascending numbers shortly: 0-2, 5, 7-8; every second one as 3, 5, .., 41.
func spans(n []int) string {
	if every := evenly(n); every > 1 && len(n) > 3 {
		return fmt.Sprintf("%d, %d, .., %d", n[0], n[1], n[len(n)-1])
	}
	var out []string
	for i := 0; i < len(n); {
		j := i
		for j+1 < len(n) && n[j+1] == n[j]+1 {
			j++
		}
		if i == j {
			out = append(out, strconv.Itoa(n[i]))
		} else {
			out = append(out, fmt.Sprintf("%d-%d", n[i], n[j]))
		}
		i = j + 1
	}
	return strings.Join(out, ", ")
}

// evenly returns the distance of neighbours where it is always the same, else 0.
func evenly(n []int) int {
	for i := 2; i < len(n); i++ {
		if n[i]-n[i-1] != n[1]-n[0] {
			return 0
		}
	}
	if len(n) < 2 {
		return 0
	}
	return n[1] - n[0]
}
