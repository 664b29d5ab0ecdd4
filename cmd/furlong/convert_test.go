package main

import (
	"math"
	"strings"
	"testing"

	"furlong/quant"
)

func TestCompareLogits(t *testing.T) {
	a := []float32{0, 1, 2, 3, 0, 0}
	b := []float32{0, 1, 2.5, 3, 4, 0}
	v := compareLogits(a, b, []int32{1, 2}, 3)
	lse := func(x ...float64) (s float64) {
		for _, v := range x {
			s += math.Exp(v)
		}
		return math.Log(s)
	}
	want := math.Abs(lse(0, 1, 2) - (lse(0, 1, 2.5) - .5)) // of token 2
	if v.Tokens != 2 || v.Logits != 6 || v.Differ != 2 || v.Max != 4 || v.SameChoice != 1 || math.Abs(v.MeanLogP-want) > 1e-12 {
		t.Errorf("got %+v, want 2 of 6 logits that differ by up to 4, one choice the same, %v in the mean", v, want)
	}
	if v := compareLogits(a, a, []int32{1, 2}, 3); v.Differ != 0 || v.SameChoice != 2 || !strings.Contains(v.String(), "6 logits of 2 tokens are the same") {
		t.Errorf("equal logits: %+v, %v", v, v)
	}
}

func TestFinite(t *testing.T) {
	inf := float32(math.Inf(-1))
	for want, logits := range map[string][]float32{"": {0, -1}, "logit 1 is NaN": {0, inf - inf, 1}, "logit 2 is -Inf": {0, 1, inf}} {
		if err := finite(logits); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error is %v, want %q", logits, err, want)
		}
	}
}

func TestVerifyFails(t *testing.T) {
	lossy := quant.Loss{Numbers: 3, Changed: 1, Max: 1, Sum: 1}
	for _, tt := range []struct {
		v    *verified
		loss quant.Loss
		want string
	}{
		{nil, quant.Loss{}, ""},
		{&verified{}, quant.Loss{}, ""},
		{&verified{Differ: 2, Max: 1}, lossy, ""},
		{&verified{Differ: 2, Max: 1}, quant.Loss{}, "2 logits differ, by up to 1, though the conversion is said to be exact"},
	} {
		err := tt.v.check(tt.loss)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v after a loss of %v: error is %v, want %q", tt.v, tt.loss, err, tt.want)
		}
	}
}
