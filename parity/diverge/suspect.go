package diverge

import "furlong/parity/taps"

// A Suspect is a mistake that engines are known to make. It is tried where a difference was found: if a judge that makes the mistake, too,
// shows no difference any more, that is what the other side does.
type Suspect interface {
	// Name is a short name for lists: "window one longer".
	Name() string
	// Says completes "the other side ..." in words, with what is right.
	Says() string
	// Ops returns the names of the boundaries at which the mistake can show first.
	Ops() []string
	// Plant returns a judge that makes the mistake, and false where it can't be made, or would change nothing. The judge that it is given stays as it is.
	Plant(j taps.Judge) (taps.Judge, bool)
}
