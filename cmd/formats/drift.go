package main

import (
	"fmt"
	"io"
	"math"
)

// drift prints, for each run, the mean gap by thirds of its cycles and the least-squares slope with its standard error, and the reward
// of the first and the last third.
func drift(w io.Writer, dirs []string) error {
	all, err := readRuns(dirs)
	if err != nil {
		return err
	}
	for _, r := range all {
		y := r.gap.Y
		n := len(y)
		if n < 3 {
			return fmt.Errorf("%s: %d cycles, want 3 or more", r.name, n)
		}
		slope, err := line(y)
		fmt.Fprintf(w, "%s, %d cycles: mean gap %.5f, %.5f, %.5f; slope %.1e +- %.1e a cycle; reward %.2f to %.2f\n", r.name, n,
			mean(y[:n/3]), mean(y[n/3:n-n/3]), mean(y[n-n/3:]), slope, err, r.sum.Reward.FirstThird, r.sum.Reward.LastThird)
	}
	return nil
}

// line fits a line through y over 0, 1, 2 and so on, and returns its slope and the slope's standard error.
func line(y []float64) (slope, err float64) {
	n := float64(len(y))
	mid, sxx, sxy := (n-1)/2, 0.0, 0.0
	for i, v := range y {
		x := float64(i) - mid
		sxx += x * x
		sxy += x * v
	}
	slope = sxy / sxx
	rest, m := 0.0, mean(y)
	for i, v := range y {
		d := v - m - slope*(float64(i)-mid)
		rest += d * d
	}
	return slope, math.Sqrt(rest / (n - 2) / sxx)
}
