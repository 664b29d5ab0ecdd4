package rollout

import (
	"fmt"
	"slices"
)

// A Mode says what becomes of samples in flight when the weights change. Whatever the mode, tokens carry the version that chose them, and no prompt
// that comes later finds rows of older weights.
type Mode uint8

// The modes.
const (
	Retract Mode = iota // they are computed again from their tokens under the new weights, and go on
	Abort               // they end with what they have, as aborted
	InPlace             // they go on with the rows that the old weights made
)

var modeNames = [...]string{"retract", "abort", "in_place"}

// String returns the name that flags use.
func (m Mode) String() string { return modeNames[m] }

// ParseMode returns the Mode that prints as name.
func ParseMode(name string) (Mode, error) {
	if i := slices.Index(modeNames[:], name); i >= 0 {
		return Mode(i), nil
	}
	return 0, fmt.Errorf("mode is %q, want one of %v", name, modeNames)
}

// turn does with samples and cached rows what a mode says. Only the loop calls it.
func (e *Engine) turn(mode Mode) {
	switch mode {
	case Abort:
		e.abortAll()
	case Retract:
		e.retract()
	case InPlace:
		if c := e.pages.Cache(); c != nil {
			c.Cut()
		}
		return
	}
	if c := e.pages.Cache(); c != nil {
		c.Flush()
	}
}
