package suspect

import (
	"fmt"

	"furlong/kernels"
	"furlong/tensor"
)

func heads() []known {
	list := []known{
		heading("logits in BF16", "rounds logits to BF16 before the softmax", func(_ *pass, x *tensor.Tensor) *tensor.Tensor { return remade(x, toBF16) }),
	}
	for _, n := range []int{64, 128, 256} {
		h := heading(fmt.Sprintf("vocabulary padded to a multiple of %d", n),
			fmt.Sprintf("has logits of 0 for the rows that pad its vocabulary to a multiple of %d in the softmax, where they are to be left out", n),
			func(at *pass, x *tensor.Tensor) *tensor.Tensor { return padded(x, upTo(at.Vocab, n)) })
		h.when = func(c config) bool { // where it is not the same as to half of that
			return upTo(c.Vocab, n) > c.Vocab && (n == 64 || upTo(c.Vocab, n) != upTo(c.Vocab, n/2))
		}
		list = append(list, h)
	}
	for _, t := range []float64{0.5, 0.6, 0.7, 0.8, 0.9, 1.2} {
		list = append(list, heading(fmt.Sprintf("logprobs at temperature %g", t),
			fmt.Sprintf("gives logprobs of the distribution at temperature %g, where those at temperature 1 are compared", t),
			func(_ *pass, x *tensor.Tensor) *tensor.Tensor {
				return remade(x, func(v float64) float64 { return v / t })
			}))
	}
	return list
}

// upTo returns the multiple of m at n or above it.
func upTo(n, m int) int { return (n + m - 1) / m * m }

// headed makes logprobs of other logits.
type headed struct {
	part
	change func(at *pass, logits *tensor.Tensor) *tensor.Tensor
}

func heading(name, says string, change func(*pass, *tensor.Tensor) *tensor.Tensor) known {
	return known{name: name, says: says, ops: []string{"logprob"}, kernels: func(k part) kernels.Backend { return headed{k, change} }}
}

// LogProb makes logprobs.
func (k headed) LogProb(lp, entropy, lse, logits *tensor.Tensor, next []int32, scale []float32) {
	k.Backend.LogProb(lp, entropy, lse, k.change(k.at, logits), next, scale)
}

// padded appends logits of 0.
func padded(x *tensor.Tensor, n int) *tensor.Tensor {
	y := tensor.New(x.Type, x.Rows(), n)
	for i := range x.Len() {
		set(y, i/x.Dim()*n+i%x.Dim(), get(x, i))
	}
	return y
}
