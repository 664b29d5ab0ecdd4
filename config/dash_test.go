package config

import (
	"fmt"
	"slices"
	"testing"
)

// A flag with one dash is named with its two, once, and is no file; what is no flag stays an argument.
func TestOneDash(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want []string // complaints
		rest []string // out and files
	}{
		{[]string{"-int", "5", "a"}, []string{`unexpected argument "-int": flags begin with two dashes, did you mean --int?`}, []string{"a"}},
		{[]string{"a", "-int=5"}, []string{`unexpected argument "-int=5": flags begin with two dashes, did you mean --int?`}, []string{"a"}},
		{[]string{"-switch", "a"}, []string{`unexpected argument "-switch": flags begin with two dashes, did you mean --switch?`}, []string{"a"}},
		{[]string{"-integer", "5"}, []string{`unexpected argument "-integer": flags begin with two dashes, did you mean --integer?`}, nil},
		{[]string{"-int", "--text", "x"}, []string{`unexpected argument "-int": flags begin with two dashes, did you mean --int?`}, nil},
		{[]string{"-x", "-", "b"}, nil, []string{"-x", "-", "b"}},
		{[]string{"./-int", "int"}, nil, []string{"./-int", "int"}},
	} {
		c := &every{}
		err := New("test", "").Add("All", c).Parse(tt.args)
		var got []string
		for _, p := range Problems(err) {
			got = append(got, p.Error())
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q: %q, want %q", tt.args, got, tt.want)
		}
		var rest []string
		if c.Out != "" {
			rest = append([]string{c.Out}, c.Rest...)
		}
		if fmt.Sprint(rest) != fmt.Sprint(tt.rest) {
			t.Errorf("%q: arguments are %q, want %q", tt.args, rest, tt.rest)
		}
	}
}
