package mathexpr

import "errors"

// Bounds on what is read and worked out, so that no answer takes long. They count steps, not time: the same answer has the
// same verdict on every machine.
const (
	mostBytes  = 4096   // of a text
	mostDepth  = 60     // of brackets and commands within each other
	mostSteps  = 60_000 // of a comparison, about a microsecond each
	mostDigits = 1000   // of a number as it is written
	mostBits   = 8192   // of a number that is worked out exactly
)

// ErrBudget is the error of a comparison that would take too long.
var ErrBudget = errors.New("too large to be worked out")

// A budget counts down the steps of one comparison.
type budget struct{ left int }

// spend takes n steps and reports whether they were there.
func (b *budget) spend(n int) bool {
	b.left -= n
	return b.left >= 0
}
