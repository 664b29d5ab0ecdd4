package layout

import (
	"os"
	"testing"

	"furlong/model/dsv4"
)

// flash is the shape of DeepSeek-V4 Flash.
func flash(t *testing.T) Shape {
	t.Helper()
	raw, err := os.ReadFile("shapes/deepseek-v4-flash.json")
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := dsv4.ReadConfig(raw)
	if err != nil {
		t.Fatal(err)
	}
	return ShapeOf(cfg)
}

// The published figures are 284 B parameters, 13 B active for a token; each line is worked out by hand from the published configuration.
func TestCountOfFlash(t *testing.T) {
	got := flash(t).Count()
	want := Count{
		Experts: 277025390592, Shared: 1082130432, Attention: 5086317888, Vocabulary: 1059061760, Routers: 45099008,
		Streams: 33818898 + 69637 - 4096, Norms: 352256 + 4096, Total: 284332240471,
	}
	want.Active = got.Active
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if a := float64(got.Active) / 1e9; a < 13.26 || a > 13.28 {
		t.Errorf("%.2f B are active for a token, want 13.27", a)
	}
}
