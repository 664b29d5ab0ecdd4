//go:build slow

package main

import (
	"fmt"
	"strings"
	"testing"
)

// Many points of each kind of run.
func TestKilledAtManyPoints(t *testing.T) {
	model := tiny(t)
	for i, k := range campaigns {
		t.Run(k.name, func(t *testing.T) {
			c := newCampaign(t, model, k.more...)
			c.same = k.same
			async := strings.HasPrefix(k.name, "fully-async")
			for n := 0; n < k.slow || async && c.partial == 0 && n < 4*k.slow; n++ { // how much is in flight when a checkpoint is made is a matter of time
				t.Run(fmt.Sprint(n), func(t *testing.T) { c.point(t, uint64(1000*(i+1)+n)) })
			}
			t.Logf("at least %d points; %d kills; checkpoints held %d partial samples, %d of which trained later", k.slow, c.kills, c.partial, c.kept)
			if async && c.partial == 0 {
				t.Error("no checkpoint held a partial sample: nothing was shown of these")
			}
		})
	}
}
