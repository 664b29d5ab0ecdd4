package rows

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestTwice(t *testing.T) {
	many := `{"k0":0`
	for i := range 40 {
		many += fmt.Sprintf(`,"k%d":{"a":1}`, i+1)
	}
	for _, tt := range []struct{ text, want string }{
		{`{}`, ""},
		{`[]`, ""},
		{`1`, ""},
		{`"a"`, ""},
		{`null`, ""},
		{`{"a":1,"b":1}`, ""},
		{`{"a":1,"a":1}`, "a"},
		{`{"a":1,"A":1}`, ""},
		{`{"a":1,"\u0061":1}`, "a"},
		{`{"a\"":1,"a\"":1}`, `a"`},
		{`{"a\\":1,"a":",\"a\":1,"}`, ""},
		{`{"a":{"b":1},"b":2}`, ""},
		{` { "a" : { "b" : 1 , "b" : 2 } } `, "a.b"},
		{`{"a":[{"b":1},{"b":2}]}`, ""},
		{`{"a":[[{"b":1,"b":2}]]}`, "a.b"},
		{`[{"b":1,"b":2}]`, "b"},
		{`{"a":{},"b":[],"c":{"d":{}},"b":1}`, "b"},
		{many + `}`, ""},
		{many + `,"k7":1}`, "k7"},
	} {
		if got, ok := Twice([]byte(tt.text)); got != tt.want || ok != (tt.want != "") {
			t.Errorf("Twice(%s) = %q, %t, want %q", tt.text, got, ok, tt.want)
		}
	}
}

// A key may be empty.
func TestTwiceNothing(t *testing.T) {
	if key, ok := Twice([]byte(`{"":1,"":2}`)); key != "" || !ok {
		t.Errorf("Twice of two empty keys = %q, %t", key, ok)
	}
}

// repeats finds the same with the decoder of the library, token by token.
func repeats(d *json.Decoder) (bool, error) {
	t, err := d.Token()
	if err != nil {
		return false, err
	}
	open, ok := t.(json.Delim)
	if !ok {
		return false, nil
	}
	found, seen := false, map[string]bool{}
	for d.More() {
		if open == '{' {
			k, err := d.Token()
			if err != nil {
				return false, err
			}
			found = found || seen[k.(string)]
			seen[k.(string)] = true
		}
		inner, err := repeats(d)
		if err != nil {
			return false, err
		}
		found = found || inner
	}
	_, err = d.Token()
	return found, err
}

func FuzzTwice(f *testing.F) {
	for _, text := range []string{`{"a":1,"a":2}`, `{"a":[{"b":"\\\""},{"b":1,"c":{"b":1}}]}`, `{"":{},"":1}`, strings.Repeat(`{"a":`, 50) + "1" + strings.Repeat("}", 50), "\xff", `{"\ud800":1,"\ud801":2}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		key, got := Twice(text) // whatever it is, it ends
		if !json.Valid(text) {
			return
		}
		want, err := repeats(json.NewDecoder(bytes.NewReader(text)))
		if err != nil && !errors.Is(err, io.EOF) {
			t.Skip()
		}
		if got != want {
			t.Errorf("Twice(%q) = %q, %t, want one: %t", text, key, got, want)
		}
	})
}
