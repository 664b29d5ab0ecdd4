package summary

import (
	"encoding/json"
	"strings"
	"testing"
)

// The account is that of the last row, which counts since the run began.
func TestAccount(t *testing.T) {
	all := rows(0.1, 0.2)
	for i, v := range []float64{10, 100} {
		all[i].Values["account/tokens/generated"], all[i].Values["account/tokens/trained"] = v, v-9
		all[i].Values["account/tokens/masked"], all[i].Values["account/tokens/masked/stale"] = 2, 2
		all[i].Values["account/tokens/waiting"], all[i].Values["account/tokens/dropped"] = 3, 4
		all[i].Values["account/tokens/dropped/stale"], all[i].Values["account/tokens/dropped/filter.zero_std_0.0"] = 1, 3
		all[i].Values["account/prompts/generated"] = 5
	}
	s := Of(all)
	var b strings.Builder
	if err := s.Print(&b); err != nil || !strings.Contains(b.String(), "100 = 91 trained + 2 masked (2 stale) + 3 waiting + 4 dropped (3 filter.zero_std_0.0, 1 stale)\n") {
		t.Errorf("the table says, with %v:\n%s", err, &b)
	}
	raw, err := json.Marshal(s)
	if err != nil || !strings.Contains(string(raw), `"account":{"tokens":{"generated":100,"trained":91,"masked":2,"waiting":3,"dropped":4,"masked_for":{"stale":2},"dropped_for":{"filter.zero_std_0.0":3,"stale":1}},"samples":`) {
		t.Errorf("as JSON: %s, %v", raw, err)
	}
	if s := Of(rows(0.1)); s.Account != nil {
		t.Errorf("rows without an account give %+v", s.Account)
	}
}
