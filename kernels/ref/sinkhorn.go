package ref

import "math"

// A sinkhorn makes a matrix of n*n logits nearly doubly stochastic, and remembers how.
//
// The softmax of each row plus eps is normalised by columns, then iters-1 times by rows and by columns. A step over lines (columns or rows) is
// r = 1/(s+eps), y = m*r, where s is a line's chain of additions from zero, ascending.
type sinkhorn[F Float] struct {
	n     int
	p     []F        // the softmax
	steps []ratio[F] // 2*iters-1, columns first
}

// A ratio is one step: its result, and for each line the factor r.
type ratio[F Float] struct {
	cols bool
	y, r []F
}

func newSinkhorn[F Float](n, iters int) *sinkhorn[F] {
	s := &sinkhorn[F]{n: n, p: make([]F, n*n)}
	for i := range 2*iters - 1 {
		s.steps = append(s.steps, ratio[F]{i%2 == 0, make([]F, n*n), make([]F, n)})
	}
	return s
}

// run returns the matrix made of logits a; the next run overwrites it.
func (s *sinkhorn[F]) run(a []F, eps F) []F {
	m := make([]F, s.n*s.n)
	for j := range s.n {
		softmaxRow(s.p[j*s.n:][:s.n], a[j*s.n:][:s.n])
	}
	for i, v := range s.p {
		m[i] = v + eps
	}
	for _, step := range s.steps {
		for line := range s.n {
			var sum F
			for i := range s.n {
				sum += m[s.at(step.cols, line, i)]
			}
			step.r[line] = 1 / (sum + eps)
			for i := range s.n {
				at := s.at(step.cols, line, i)
				step.y[at] = m[at] * step.r[line]
			}
		}
		m = step.y
	}
	return m
}

// back sets da to the gradient of the logits of the last run, from that of its result: backwards through each step
// dm = (dy - d)*r with d a line's chain of FMA(dy, y, .), then through the softmax da = p*(dm - d) with d a row's chain of FMA(dm, p, .).
func (s *sinkhorn[F]) back(da, dy []F) {
	copy(da, dy)
	for k := len(s.steps) - 1; k >= 0; k-- {
		step := s.steps[k]
		for line := range s.n {
			d := s.lineDot(da, step.y, step.cols, line)
			for i := range s.n {
				at := s.at(step.cols, line, i)
				da[at] = (da[at] - d) * step.r[line]
			}
		}
	}
	for row := range s.n {
		d := s.lineDot(da, s.p, false, row)
		for i := range s.n {
			at := s.at(false, row, i)
			da[at] = s.p[at] * (da[at] - d)
		}
	}
}

// at returns where element i of a line lies.
func (s *sinkhorn[F]) at(cols bool, line, i int) int {
	if cols {
		return i*s.n + line
	}
	return line*s.n + i
}

func (s *sinkhorn[F]) lineDot(a, b []F, cols bool, line int) (sum F) {
	for i := range s.n {
		at := s.at(cols, line, i)
		sum = FMA(a[at], b[at], sum)
	}
	return sum
}

// softmaxRow sets p to exp(a-max)*(1/sum), the sum a chain.
func softmaxRow[F Float](p, a []F) {
	m := F(math.Inf(-1))
	for _, v := range a {
		m = Max(m, v)
	}
	var sum F
	for i, v := range a {
		p[i] = Exp(v - m)
		sum += p[i]
	}
	inv := 1 / sum
	for i, v := range p {
		p[i] = v * inv
	}
}
