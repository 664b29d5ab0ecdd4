package store

import (
	"fmt"
	"strconv"
	"strings"
)

// A Place is how far into a run's files one has come: the ends of the last whole lines.
type Place struct{ Rows, Alarms int64 }

// String returns the place as an id of an event: m48213,a120.
func (p Place) String() string { return fmt.Sprintf("m%d,a%d", p.Rows, p.Alarms) }

// ParsePlace is the reverse of String.
func ParsePlace(s string) (Place, error) {
	m, a, ok := strings.Cut(s, ",")
	if ok && strings.HasPrefix(m, "m") && strings.HasPrefix(a, "a") {
		x, errX := strconv.ParseInt(m[1:], 10, 64)
		y, errY := strconv.ParseInt(a[1:], 10, 64)
		if errX == nil && errY == nil && x >= 0 && y >= 0 {
			return Place{x, y}, nil
		}
	}
	return Place{}, asked(Wrong, "place is %.60q, want an id of an event as m48213,a120", s)
}
