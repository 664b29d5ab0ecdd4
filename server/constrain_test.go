package server

import (
	"encoding/json"
	"fmt"
	"regexp"
	"testing"
)

func TestConstraints(t *testing.T) {
	u := serve(t, engineConfig(), nil)
	quoted := func(s string) string { raw, _ := json.Marshal(s); return string(raw) }
	schema := `{"type":"object","properties":{"a":{"type":"integer","minimum":0,"maximum":99}},"required":["a"],"additionalProperties":false}`
	for _, tt := range []struct{ params, want string }{
		{`"regex":"[0-9]{3}-[a-f]+x"`, `^[0-9]{3}-[a-f]+x$`},
		{`"json_schema":` + quoted(schema), `^\{ *"a" *: *[0-9]{1,2} *\}$`},
		{`"ebnf":` + quoted(`root ::= "yes" | "no"`), `^(yes|no)$`},
	} {
		for _, temperature := range []string{"0", "1"} {
			as := u.many(fmt.Sprintf(`{"text":"x","sampling_params":{"temperature":%s,"max_new_tokens":100,"n":3,%s}}`, temperature, tt.params))
			for _, a := range as {
				if ok, err := regexp.MatchString(tt.want, *a.Text); err != nil || !ok && a.Meta.Finish.Type == "stop" {
					t.Errorf("%s: %q (%+v), want %s", tt.params, *a.Text, a.Meta.Finish, tt.want)
				}
			}
		}
	}
	if n := len(u.grammars.kept); n != 3 {
		t.Errorf("%d grammars are kept, want 3", n)
	}
	u.refused("/generate", `{"text":"x","sampling_params":{"regex":"("}}`, 400, "regex")
	if n := u.jobs.count(); n != 0 {
		t.Errorf("%d jobs after a refusal", n)
	}
	_, raw := u.stream(`{"text":"x","stream":true,"sampling_params":{"json_schema":"{"}}`)
	if len(raw) != 1 || !containsAll(raw[0], "json_schema", `"code":400`) {
		t.Errorf("stream of a wrong schema: %s", raw)
	}
}

func TestGrammarsForget(t *testing.T) {
	g := newGrammars(nil, 0, nil)
	for i := range 3 * mostGrammars {
		g.entry(fmt.Sprint(i))
		g.entry("kept")
	}
	if len(g.kept) != mostGrammars || len(g.last) != mostGrammars || g.kept["kept"] == nil || g.kept["5"] != nil {
		t.Errorf("%d and %d are kept", len(g.kept), len(g.last))
	}
}
