package main

import (
	"slices"
	"strings"
	"testing"

	"furlong/dash/api"
)

func TestBaselines(t *testing.T) {
	for _, tt := range []struct {
		asked []string
		want  []api.Baseline // nil for an error
	}{
		{nil, []api.Baseline{}},
		{[]string{"base=0.39", "paper, k=8 = 1"}, []api.Baseline{{Name: "base", Value: "0.39"}, {Name: "paper, k=8", Value: "1"}}},
		{[]string{"<b>=0"}, []api.Baseline{{Name: "<b>", Value: "0"}}},
		{[]string{"base"}, nil},
		{[]string{"=0.5"}, nil},
		{[]string{"base=39%"}, nil},
		{[]string{"base=39"}, nil},
		{[]string{"base=-0.1"}, nil},
		{[]string{"base=NaN"}, nil},
		{[]string{"good=0.5", "bad="}, nil},
	} {
		got, err := baselines(tt.asked)
		if tt.want == nil {
			if last := tt.asked[len(tt.asked)-1]; err == nil || !strings.Contains(err.Error(), last) || !strings.Contains(err.Error(), "--baseline") {
				t.Errorf("baselines(%q) = %v, %v, want an error that names %q", tt.asked, got, err, last)
			}
			continue
		}
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("baselines(%q) = %v, %v, want %v", tt.asked, got, err, tt.want)
		}
	}
}
