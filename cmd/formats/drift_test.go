package main

import (
	"math"
	"testing"
)

// The figures of y = 1, 2, 2, 3 are done by hand: slope 0.6, residuals -0.1, 0.3, -0.3, 0.1, squares 0.2; sqrt(0.2/2/5).
func TestLine(t *testing.T) {
	slope, err := line([]float64{1, 2, 2, 3})
	if math.Abs(slope-0.6) > 1e-12 || math.Abs(err-math.Sqrt(0.02)) > 1e-12 {
		t.Errorf("slope %v +- %v, want 0.6 +- %v", slope, err, math.Sqrt(0.02))
	}
}
