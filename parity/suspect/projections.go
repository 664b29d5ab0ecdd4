package suspect

import (
	"furlong/kernels"
	"furlong/tensor"
)

func projections() []known {
	return []known{
		grouping("heads grouped by turns", "gives head h to group h modulo o_groups of the output projection, where each group has a run of heads", byTurns),
		grouping("output projection dense", "applies the first output projection as one dense matrix to all heads, where it has a block for each group of them", everyHead),
	}
}

// grouped feeds the grouped output projection with other heads.
type grouped struct {
	part
	feed func(at *pass, o *tensor.Tensor) *tensor.Tensor
}

func grouping(name, says string, feed func(*pass, *tensor.Tensor) *tensor.Tensor) known {
	return known{
		name: name, says: says, ops: []string{"attn_grouped"},
		when:    func(c config) bool { return c.OGroups > 1 && c.OGroups < c.Heads },
		kernels: func(k part) kernels.Backend { return grouped{k, feed} },
	}
}

// Linear is a product.
func (k grouped) Linear(y, x, w *tensor.Tensor, groups int) {
	if k.at.after("attn_turned") {
		x = k.feed(k.at, x)
	}
	k.Backend.Linear(y, x, w, groups)
}

func byTurns(at *pass, o *tensor.Tensor) *tensor.Tensor {
	d, each := at.HeadDim, at.Heads/at.OGroups
	return permuted(o, o.Dim(), func(i int) int {
		h := i / d
		return (h%each*at.OGroups+h/each)*d + i%d
	})
}

func everyHead(at *pass, o *tensor.Tensor) *tensor.Tensor {
	y, n, wide := o.Clone(), o.Dim(), o.Dim()/at.OGroups
	for i := range o.Len() {
		sum := 0.0
		for g := range at.OGroups {
			sum += get(o, i/n*n+g*wide+i%wide)
		}
		set(y, i, sum)
	}
	return y
}
