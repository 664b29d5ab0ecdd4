package suspect

import (
	"furlong/kernels"
	"furlong/tensor"
)

func norms() []known {
	with := func(name, says string, eps float64) known {
		return known{
			name: name, says: says,
			ops:     append([]string{"attn_in", "q_latent", "q_normed", "kv_normed", "compressed_kv", "index_keys", "mlp_in", "final_norm"}, atMaps...),
			when:    func(c config) bool { return c.NormEps != eps },
			kernels: func(k part) kernels.Backend { return otherEps{k, eps} },
		}
	}
	without := func(name, says, op, after string) known {
		return known{name: name, says: says, ops: []string{op}, kernels: func(k part) kernels.Backend { return skipped{k, after} }}
	}
	return []known{
		with("norms with eps 1e-5", "adds 1e-5 to the mean square in its norms, where the configuration says rms_norm_eps", 1e-5),
		with("norms with eps 1e-6", "adds 1e-6 to the mean square in its norms, where the configuration says rms_norm_eps", 1e-6),
		with("norms without eps", "adds nothing to the mean square in its norms, where the configuration says rms_norm_eps", 0),
		without("query latent not normed", "leaves out the norm between the two query projections", "q_latent", "attn_in"),
		without("query heads not normed", "leaves out the norm of each query head, which has no weight and comes after the second projection", "q_normed", "q_latent"),
		without("keys not normed", "leaves out the norm of the keys", "kv_normed", "q"),
		without("entries not normed", "leaves out the norm of compressed entries", "compressed_kv", "compress_pooled"),
	}
}

// otherEps norms with another eps, in mixers too.
type otherEps struct {
	part
	eps float64
}

// RMSNorm norms rows.
func (k otherEps) RMSNorm(y, x, w *tensor.Tensor, dim int, _ float64) {
	k.Backend.RMSNorm(y, x, w, dim, k.eps)
}

// HyperMap makes the maps, which hold a norm.
func (k otherEps) HyperMap(pre, post, comb, z, x, base, scale *tensor.Tensor, p kernels.HyperParams) {
	p.NormEps = k.eps
	k.Backend.HyperMap(pre, post, comb, z, x, base, scale, p)
}

// skipped leaves out the norm that comes after a boundary.
type skipped struct {
	part
	last string
}

// RMSNorm norms rows, or copies them.
func (k skipped) RMSNorm(y, x, w *tensor.Tensor, dim int, eps float64) {
	if k.at.after(k.last) {
		k.Copy(y, x)
		return
	}
	k.Backend.RMSNorm(y, x, w, dim, eps)
}
