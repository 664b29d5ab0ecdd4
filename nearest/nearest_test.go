package nearest

import "testing"

func TestName(t *testing.T) {
	names := []string{"micro-batch-size", "lr", "min-lr", "rollout-batch-size", "eval"}
	for _, tt := range []struct{ typed, want string }{
		{"rollout-batch-szie", "rollout-batch-size"},
		{"batch-size", "micro-batch-size"},
		{"LR", "lr"},
		{"evla", "eval"},
		{"l", "lr"},
		{"nothing-like-it-at-all", ""},
		{"", ""},
	} {
		if got := Name(tt.typed, names); got != tt.want {
			t.Errorf("Name(%q) = %q, want %q", tt.typed, got, tt.want)
		}
	}
}

func TestWithin(t *testing.T) {
	names := []string{"max-running-requests", "max-total-tokens"}
	for _, tt := range []struct {
		edits       int
		typed, want string
	}{
		{2, "max-runing-requests", "max-running-requests"},
		{2, "Max-Total-Toknes", "max-total-tokens"},
		{2, "max-running-tokens", ""},
		{0, "max-runing-requests", ""},
	} {
		if got := Within(tt.edits, tt.typed, names); got != tt.want {
			t.Errorf("Within(%d, %q) = %q, want %q", tt.edits, tt.typed, got, tt.want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "", 3}, {"abc", "abd", 1}, {"abc", "acb", 1}, {"abcd", "bcd", 1}, {"kitten", "sitting", 3}} {
		if got := distance(tt.a, tt.b); got != tt.want {
			t.Errorf("distance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
