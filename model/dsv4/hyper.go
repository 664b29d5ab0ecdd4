package dsv4

import (
	"furlong/kernels"
	"furlong/ops"
	"furlong/tensor"
)

// A site is the hyper-connection around one sub-layer. Rows of fn: S for the collapse, S for the output, S*S for the mix.
type site struct {
	pre, post, comb, collapsed string        // names under which results are seen
	fn, base, scale            *tensor.Param // [S*(2+S), S*D], [S*(2+S)], [3]
}

func (s *site) weights(p kernels.HyperParams) ops.SiteWeights {
	return ops.SiteWeights{Fn: s.fn, Base: s.base, Scale: s.scale, HyperParams: p}
}

// see shows the maps of e and what it made of the streams.
func (s *site) see(c *ops.Ctx, e *ops.Site) {
	c.See(s.pre, e.Pre)
	c.See(s.post, e.Post)
	c.See(s.comb, e.Comb)
	c.See(s.collapsed, e.In)
}
