package bench

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"time"
)

// sample is a report made by hand.
func sample() *Report {
	changed := false
	return &Report{
		Date:    time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC),
		Build:   Build{Revision: "abc", Changed: &changed, Go: "go1.26"},
		Machine: Machine{Processor: "Chip", Cores: 2, Threads: 2, Backend: "cpu", Unit: "avx2", System: "linux/amd64", Load: 0.1},
		Model:   ModelInfo{"tiny", "f32", 1998433, 900705, 8 << 20},
		Runs:    9,
		Rates:   Rates{Rate{180e9, 170e9, 5}, Rate{32e9, 30e9, 5}},
		Results: []Result{
			{Work: Score, Shape: "8x256", Rate: Spread{40000, 39000, 41000}, StepMS: 51.2, FloorRun: 80000, Share: 0.5, ShareThen: 0.53, Peak: 1 << 20, Target: 40000, Peer: 5816},
			{Work: Decode, Shape: "batch 1", Rate: Spread{2000, 1900, 2100}, StepMS: 0.5, FloorRun: 8000, Share: 0.25, Peak: 1 << 20},
		},
	}
}

func ExampleReport_Print() {
	if err := sample().Print(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// Chip, 2 cores, 2 threads, linux/amd64, backend cpu (avx2), load at the start 0.1
	// model tiny, f32, 1,998,433 parameters, 900,705 on a token, 8.0 MiB
	// revision abc, go1.26
	//
	// matrix product 180.0 GFLOP/s (median 170.0), copy 32.0 GB/s (median 30.0)
	//
	// work    shape    tokens/s  min     max     ms a step  floor   of floor  of floor then  peak memory  target  peer
	// score   8x256    40,000    39,000  41,000  51.20      80,000  50.0 %    53.0 %         1.0 MiB      40,000  5,816
	// decode  batch 1  2,000     1,900   2,100   0.50       8,000   25.0 %    -              1.0 MiB      -       -
	// median, least and most of 9 runs; floors are explained by furlong help bench
}

func TestPage(t *testing.T) {
	page := "# Speed\n<!-- bench: machine -->\nold\n<!-- end: machine -->\ntext\n<!-- bench: works -->\n<!-- end: works -->\n<!-- bench: growth -->\nkept\n<!-- end: growth -->\n"
	got, err := sample().Page(page, "furlong bench")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"# Speed\n<!-- bench: machine -->\n`furlong bench`, 2026-11-29, revision abc, go1.26.\n\n- Chip, 2 cores",
		"<!-- end: machine -->\ntext\n<!-- bench: works -->\n| work | shape |",
		"| score | 8x256 | 40,000 | 39,000 | 41,000 | 51.20 | 80,000 | 50.0 % | 53.0 % | 1.0 MiB | 40,000 | 5,816 |\n",
		"<!-- bench: growth -->\nkept\n<!-- end: growth -->\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page has no %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "old") {
		t.Errorf("the old figures stand there still:\n%s", got)
	}
	if again, err := sample().Page(got, "furlong bench"); err != nil || again != got {
		t.Errorf("a second time changes the page: %v\n%s", err, again)
	}
	if _, err := sample().Page("# Speed\n", "x"); err == nil || !strings.Contains(err.Error(), "<!-- bench: machine -->") {
		t.Errorf("a page without marks: error is %v", err)
	}
}

// The page in the repository has all marks.
func TestDocsPage(t *testing.T) {
	text, err := os.ReadFile("../docs/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	r := sample()
	r.Growth, r.Memory = growing(0, 0, 0), []Held{{Cycle: 1}}
	if _, err := r.Page(string(text), "furlong bench"); err != nil {
		t.Error(err)
	}
	if err := CheckPage(string(text), quick()); err != nil {
		t.Error(err)
	}
	if err := CheckPage(strings.ReplaceAll(string(text), "end: growth", "end"), quick()); err == nil || !strings.Contains(err.Error(), "growth") {
		t.Errorf("without the marks of growth: error is %v", err)
	}
}

// growing is a report in which the time of a token grows with these powers of the length.
func growing(prompt, decode, train float64) *GrowthReport {
	g := &GrowthReport{}
	for _, n := range []int{256, 1024, 16384} {
		at := func(power, base float64) float64 { return base * math.Pow(float64(n), power) }
		g.Points = append(g.Points, GrowthPoint{Context: n, PromptUS: at(prompt, 20), DecodeUS: at(decode, 300), TrainUS: at(train, 70)})
	}
	g.fit()
	return g
}

func TestGrowthPowers(t *testing.T) {
	g := growing(0, 0.25, 1)
	for _, tt := range []struct{ got, want float64 }{{g.PromptPower, 1}, {g.DecodePower, 1.25}, {g.TrainPower, 2}} {
		if math.Abs(tt.got-tt.want) > 1e-9 { // rounding of logarithms
			t.Errorf("power is %v, want %v", tt.got, tt.want)
		}
	}
}

func TestSVG(t *testing.T) {
	lines := map[string]string{} // path of each curve, by class
	circles := 0
	d := xml.NewDecoder(strings.NewReader(growing(0, 0, 0.5).SVG()))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		attr := map[string]string{}
		for _, a := range e.Attr {
			attr[a.Name.Local] = a.Value
		}
		switch {
		case e.Name.Local == "path" && strings.Contains(attr["d"], "l") && attr["stroke-width"] == "1.6":
			lines[attr["class"]] = attr["d"]
		case e.Name.Local == "circle":
			circles++
		}
	}
	// A level line stays level, and 256, 1024 and 16384 are two doublings and four.
	var x, y, dx1, dy1, dx2, dy2 float64
	if n, err := fmt.Sscanf(lines["s-blue"], "M%g %gl%g %gl%g %g", &x, &y, &dx1, &dy1, &dx2, &dy2); n != 6 || dy1 != 0 || dy2 != 0 || dx1 <= 0 || math.Abs(dx2/dx1-2) > 1e-3 {
		t.Errorf("prompt runs through %q (%v), want a level line with steps of one and two", lines["s-blue"], err)
	}
	if len(lines) != 3 || circles != 9 {
		t.Errorf("%d curves and %d points, want 3 and 9", len(lines), circles)
	}
}

func TestCount(t *testing.T) {
	for _, tt := range []struct {
		v    float64
		want string
	}{{0, "0"}, {999.4, "999"}, {999.6, "1,000"}, {1234567, "1,234,567"}} {
		if got := count(tt.v); got != tt.want {
			t.Errorf("count(%v) = %q, want %q", tt.v, got, tt.want)
		}
	}
}

func TestProcFiles(t *testing.T) {
	status := "Name:\tfurlong\nVmHWM:\t    1024 kB\nVmRSS:\t     512 kB\n"
	if got, ok := kilobytes(field(status, "VmHWM")); got != 1<<20 || !ok {
		t.Errorf("VmHWM is %d, %v, want 1048576", got, ok)
	}
	if _, ok := kilobytes(field(status, "VmSwap")); ok {
		t.Error("a line that is not there was read")
	}
	if _, ok := kilobytes("12"); ok {
		t.Error("a size without its unit was read")
	}
	if got := field("model name\t: A Chip: fast\n", "model name"); got != "A Chip: fast" {
		t.Errorf("model name is %q", got)
	}
}

func TestMemoryIsSeen(t *testing.T) {
	if f := memory(); f.now <= 0 || f.peak < f.now {
		t.Errorf("footprint is %+v, want a peak at least as high as what is held", f)
	}
}
