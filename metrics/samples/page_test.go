package samples

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestPageNamesEveryColumn holds docs/formats/samples.md against the tables of columns.
func TestPageNamesEveryColumn(t *testing.T) {
	b, err := os.ReadFile("../../docs/formats/samples.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	types := map[int]string{1: "u8", 2: "u16", 4: "u32"}
	for c := range numColumns {
		typ := types[c.Width()]
		if columns[c].float {
			typ = "f32"
		}
		if want := fmt.Sprintf("| %s | %s |", c, typ); !strings.Contains(page, want) {
			t.Errorf("the page has no line %q", want)
		}
	}
	for _, p := range parts {
		if want := fmt.Sprintf("| %s | %s |", p.name, p.typ); !strings.Contains(page, want) {
			t.Errorf("the page has no line %q", want)
		}
		if want := fmt.Sprintf("%d %s", p.has, p.name); p.has != 0 && !strings.Contains(page, want) {
			t.Errorf("the page does not say that bit %q is an optional column", want)
		}
	}
	if want := fmt.Sprintf("32 + 16 records + %d blocks + %d rows bytes", zoneBytes*int(numColumns), RowBytes); !strings.Contains(page, want) {
		t.Errorf("the page does not say %q", want)
	}
}
