package ref

import "furlong/tensor"

// Add sets y = a + b.
func (*Backend[F]) Add(y, a, b *tensor.Tensor) {
	check("add", "a", a, y.Shape[0], width(y))
	check("add", "b", b, y.Shape[0], width(y))
	out, p, q := data[F](y), data[F](a), data[F](b)
	for i, v := range p {
		out[i] = v + q[i]
	}
}

// Zero sets every element of y to 0.
func (*Backend[F]) Zero(y *tensor.Tensor) { clear(data[F](y)) }

// Copy sets y = x.
func (*Backend[F]) Copy(y, x *tensor.Tensor) {
	check("copy", "y", y, x.Shape[0], width(x))
	copy(data[F](y), data[F](x))
}

// Join sets each row of y to [a | b].
func (*Backend[F]) Join(y, a, b *tensor.Tensor) {
	rows, m, n := joinDims("join", y, a, b)
	out, p, q := data[F](y), data[F](a), data[F](b)
	for t := range rows {
		copy(out[t*(m+n):][:m], p[t*m:][:m])
		copy(out[t*(m+n)+m:][:n], q[t*n:][:n])
	}
}

// JoinBackward adds the two parts of dy to da and db.
func (*Backend[F]) JoinBackward(da, db, dy *tensor.Tensor) {
	rows, m, n := joinDims("join backward", dy, da, db)
	in, p, q := data[F](dy), sums[F](da), sums[F](db)
	for t := range rows {
		if da != nil {
			add(p[t*m:][:m], in[t*(m+n):][:m])
		}
		if db != nil {
			add(q[t*n:][:n], in[t*(m+n)+m:][:n])
		}
	}
}

// joinDims returns T, A and B of y [T, A+B]; one of a and b may be nil, and both of a gradient nobody wants.
func joinDims(kernel string, y, a, b *tensor.Tensor) (rows, m, n int) {
	rows = y.Shape[0]
	switch {
	case a != nil && b != nil:
		m, n = width(a), width(b)
	case a != nil:
		m, n = width(a), width(y)-width(a)
	case b != nil:
		m, n = width(y)-width(b), width(b)
	default:
		m = width(y)
	}
	checkWanted(kernel, "a", a, rows, m)
	checkWanted(kernel, "b", b, rows, n)
	check(kernel, "y", y, rows, m+n)
	return rows, m, n
}
