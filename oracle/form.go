package oracle

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"furlong/dtype"
	"furlong/model/dsv4"
)

// anyLength is a dimension that the vectors themselves decide.
const anyLength = -1

// checkForm says what is wrong with the vectors before anything is computed from them: a token that the model does not have, or a tensor of another
// format or shape, would be a panic in the middle of a pass, or be compared number by number with what it is not.
func (v *vectors) checkForm() error {
	shapes := v.weightShapes()
	for _, name := range v.oracle.Names() {
		info, _ := v.oracle.Info(name)
		if integers := isInteger(name); integers != (info.Type == dtype.I32) || !integers && !isFloat(info.Type) {
			return fmt.Errorf("%s: oracle.safetensors: %s is %v, want %s", v.dir, name, info, formats[integers])
		}
		if want := v.shape(name, shapes); want != nil && !fits(info.Shape, want) {
			return fmt.Errorf("%s: oracle.safetensors: %s is %v, want shape %s", v.dir, name, info, spell(want))
		}
		if err := v.checkChoices(name); err != nil {
			return err
		}
	}
	return v.checkSteps()
}

var formats = map[bool]string{true: "I32", false: "F32, F64 or BF16"}

func isInteger(name string) bool {
	return slices.ContainsFunc([]string{".input_ids", ".router_indices", ".index_topk", ".prompt", ".tokens"}, func(end string) bool {
		return strings.HasSuffix(name, end)
	})
}

func isFloat(t dtype.Type) bool { return t == dtype.F32 || t == dtype.F64 || t == dtype.BF16 }

// checkChoices holds tokens and entries to the numbers that there are. Of entries -1 alone stands for none.
func (v *vectors) checkChoices(name string) error {
	low, end := int32(0), v.cfg.Vocab
	switch {
	case strings.HasSuffix(name, ".index_topk"):
		low, end = -1, math.MaxInt32
	case !strings.HasSuffix(name, ".input_ids") && !strings.HasSuffix(name, ".prompt"):
		return nil
	}
	t, err := v.oracle.Tensor(name)
	if err != nil {
		return err
	}
	for i, x := range t.I32() {
		if x < low || int(x) >= end {
			return fmt.Errorf("%s: oracle.safetensors: %s: number %d is %d, want %d to %d", v.dir, name, i, x, low, end-1)
		}
	}
	return nil
}

// checkSteps holds the figures of the optimizer's steps to each other: a loss before each step and one after the last, a norm of each.
func (v *vectors) checkSteps() error {
	losses, ok := v.oracle.Info("adamw.losses")
	norms, there := v.oracle.Info("adamw.grad_norms")
	if ok && there && losses.Shape[0] != norms.Shape[0]+1 {
		return fmt.Errorf("%s: oracle.safetensors: adamw.losses is %v and adamw.grad_norms %v, want a loss more than norms", v.dir, losses, norms)
	}
	return nil
}

// weightShapes returns the shape of every weight of the model.
func (v *vectors) weightShapes() map[string][]int {
	out := map[string][]int{}
	for _, p := range dsv4.Shapes(v.cfg) {
		out[p.Name] = p.Value.Shape
	}
	return out
}

// shape returns the shape that a vector of a name has, or nil where the name says nothing of it.
func (v *vectors) shape(name string, weights map[string][]int) []int {
	if weight, ok := strings.CutPrefix(name, "grad/"); ok {
		return weights[weight]
	}
	if pre, rest, ok := strings.Cut(name, "."); ok && strings.HasPrefix(pre, "T") {
		if n, err := strconv.Atoi(pre[1:]); err == nil {
			return v.shapeOfCase(n, rest)
		}
	}
	switch name {
	case "adamw.param_digest":
		return []int{len(v.meta.ParamOrder), 4}
	case "adamw.losses", "adamw.grad_norms", "rope.main.inv_freq", "rope.compress.inv_freq":
		return []int{anyLength}
	}
	if isInteger(name) {
		return []int{anyLength}
	}
	return nil
}

// shapeOfCase is shape for the vectors of a case of n tokens.
func (v *vectors) shapeOfCase(n int, name string) []int {
	if layer, rest, ok := strings.Cut(name, "."); ok && strings.HasPrefix(layer, "L") {
		name = rest
	}
	c := v.cfg
	switch name {
	case "input_ids":
		return []int{n}
	case "logprobs_f64":
		return []int{n - 1}
	case "logits_f64", "decode_logits":
		return []int{n, c.Vocab}
	case "streams":
		return []int{n, c.Streams, c.Hidden}
	case "router_indices", "router_weights":
		return []int{n, c.TopK}
	case "router_logits":
		return []int{n, c.Experts}
	case "index_topk":
		return []int{n, anyLength}
	case "attn_hc.post", "ffn_hc.post":
		return []int{n, c.Streams}
	case "attn_hc.comb", "ffn_hc.comb":
		return []int{n, c.Streams, c.Streams}
	case "compressed_kv":
		return []int{anyLength, c.HeadDim}
	case "attn_hc.collapsed", "ffn_hc.collapsed", "attn_in", "attn_out", "mlp_in", "mlp_out", "hc_head", "final_norm":
		return []int{n, c.Hidden}
	case "grad_digest":
		return []int{len(v.meta.GradOrder), 4}
	}
	return nil
}

// fits reports whether a shape is the one that is wanted.
func fits(have, want []int) bool {
	return slices.EqualFunc(have, want, func(h, w int) bool { return w == anyLength || h == w })
}

// spell writes a wanted shape, with a star for what may have any length.
func spell(want []int) string {
	out := make([]string, len(want))
	for i, w := range want {
		if out[i] = strconv.Itoa(w); w == anyLength {
			out[i] = "*"
		}
	}
	return "[" + strings.Join(out, " ") + "]"
}
