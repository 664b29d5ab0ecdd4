package mathexpr

import "testing"

func TestEqual(t *testing.T) {
	for _, tt := range []struct {
		gold, answer string
		equal        bool
	}{
		{"1234", "12,34", false},
		{"1234", `1{,}234`, true},
		{`\frac32`, `1\frac12`, true},
		{"73/4", "7 3/4", false},
	} {
		if r := Equal(tt.gold, tt.answer, Rules{}); r.Equal != tt.equal {
			t.Errorf("%s for %s is %t, want %t: %s", tt.answer, tt.gold, r.Equal, tt.equal, r.Why)
		}
	}
}
