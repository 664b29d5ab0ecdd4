//go:build slow

package main

import (
	"fmt"
	"testing"
)

// Fifty points for each loop.
func TestKilledAtFiftyPoints(t *testing.T) {
	model := tiny(t)
	for i, loop := range []string{"sync", "one-step-off"} {
		t.Run(loop, func(t *testing.T) {
			c := newCampaign(t, model, "--loop", loop)
			for n := range 50 {
				t.Run(fmt.Sprint(n), func(t *testing.T) { c.point(t, uint64(1000*(i+1)+n)) })
			}
		})
	}
}
