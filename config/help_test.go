package config

import "testing"

// Text is wrapped by paragraphs; tables are left alone.
func TestParagraphs(t *testing.T) {
	long := "a "
	for len(long) < helpWidth {
		long += "word "
	}
	got := paragraphs(long + "\nb\n\n  x   1\n  y   2\n\nend")
	want := wrap(long+" b", 0) + "\n\n  x   1\n  y   2\n\nend"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
