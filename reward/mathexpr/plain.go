package mathexpr

import "slices"

// Identity compares two expressions in plain notation, as a computer algebra system reads it: ^ is a power, letters side by
// side are a product, sqrt, sin and pi are known, log is natural, i and e are names like others and names stand for complex
// numbers. It reports whether their difference is 0; over is whether that was too large to be worked out.
func Identity(a, b string) (equal, over bool) {
	c := &comparer{budget: &budget{mostSteps}, complex: true}
	x, err := parse(a, options{plain: true}, c.budget)
	if err != nil {
		return false, c.over()
	}
	y, err := parse(b, options{plain: true}, c.budget)
	if err != nil || x.isObject() || y.isObject() {
		return false, c.over()
	}
	f := c.values(x, y)
	return f.equal, c.over() || f.unknown && !slices.Equal(x.symbols(), nil)
}
