package arithmetic

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
)

// The range of running results.
const lowest, highest = 0, 999

// A Problem is a chain of two or three operations, evaluated from left to right. Multiplication comes first if at all, so
// that this is also the usual precedence. Problems can be compared with ==.
type Problem struct {
	K        int     // operations
	Signs    [3]byte // the first K are + - *, only the first may be *
	Operands [4]int  // the first K+1 count
}

// String returns the prompt: the expression and an equals sign.
func (p Problem) String() string {
	b := strconv.AppendInt(nil, int64(p.Operands[0]), 10)
	for i := range p.K {
		b = append(b, p.Signs[i])
		b = strconv.AppendInt(b, int64(p.Operands[i+1]), 10)
	}
	return string(append(b, '='))
}

// Answer returns the result.
func (p Problem) Answer() int {
	value := p.Operands[0]
	for i := range p.K {
		value = exactly(p.Signs[i], value, p.Operands[i+1])
	}
	return value
}

// Solution returns the worked solution, without mistakes.
func (p Problem) Solution() string {
	return p.work(func(byte) bool { return false })
}

// Carries returns how many carries and borrows the solution needs.
func (p Problem) Carries() int {
	n := 0
	p.work(func(byte) bool { n++; return false })
	return n
}

// HeldOut reports whether p belongs to evaluation and must not be trained on: one prompt in eight.
func (p Problem) HeldOut() bool { return hash(p.String())>>32&7 == 0 }

// hash returns the 64-bit FNV-1a hash of a prompt.
func hash(prompt string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(prompt))
	return h.Sum64()
}

// inRange reports whether every running result lies in 0..999.
func (p Problem) inRange() bool {
	value := p.Operands[0]
	for i := range p.K {
		value = exactly(p.Signs[i], value, p.Operands[i+1])
		if value < lowest || value > highest {
			return false
		}
	}
	return true
}

// work writes out every operation as an equation and boxes the last result. Each carry asks forget, which may say yes.
func (p Problem) work(forget func(sign byte) bool) string {
	text := make([]byte, 0, 48)
	value := p.Operands[0]
	for i := range p.K {
		sign, y := p.Signs[i], p.Operands[i+1]
		text = append(strconv.AppendInt(text, int64(value), 10), sign)
		text = append(strconv.AppendInt(text, int64(y), 10), '=')
		value = inColumns(sign, value, y, func() bool { return forget(sign) })
		if i < p.K-1 {
			text = append(strconv.AppendInt(text, int64(value), 10), ' ')
		}
	}
	text = append(text, `\boxed{`...)
	return string(append(strconv.AppendInt(text, int64(value), 10), '}'))
}

// Parse reads a prompt back. It accepts what a [Stream] can draw and nothing else.
func Parse(prompt string) (Problem, error) {
	var p Problem
	rest, ok := strings.CutSuffix(prompt, "=")
	for n := 0; ok && n <= 3; n++ {
		end := strings.IndexAny(rest, "+-*")
		digits := rest
		if end >= 0 {
			digits = rest[:end]
		}
		p.Operands[n], _ = strconv.Atoi(digits)
		if p.K = n; end < 0 {
			break
		}
		if n < 3 {
			p.Signs[n], rest = rest[end], rest[end+1:]
		}
	}
	if !ok || p.String() != prompt || !p.wellFormed() {
		return Problem{}, fmt.Errorf("prompt is %q, want two or three operations as in \"86*9-34=\"", prompt)
	}
	return p, nil
}

// wellFormed reports whether a [Stream] can draw p.
func (p Problem) wellFormed() bool {
	for i, x := range p.Operands[:p.K+1] {
		times := i > 0 && p.Signs[i-1] == '*'
		if times && (i > 1 || x < 2 || x > 9) || !times && (x < 10 || x > 99) {
			return false
		}
	}
	return p.K >= 2 && p.inRange()
}
