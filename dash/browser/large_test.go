package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLarge looks at the run that FURLONG_DASH_RUN names, one of 10,000 cycles and 2.56 million samples, for the figures of docs/dashboard.md: the first paint of a server that was just
// started, the charts, filters, and what the server takes. Times are held to their targets where FURLONG_TEST_TIMES says that nothing else is at work.
func TestLarge(t *testing.T) {
	need(t)
	dir := os.Getenv("FURLONG_DASH_RUN")
	if dir == "" {
		t.Skip("FURLONG_DASH_RUN names no run; go run ./cmd/dashgen DIR makes one")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("load of the machine: %s", line(t, "/proc/loadavg", ""))
	tb := open(t, 1280, 800)
	s := serve(t, "127.0.0.1:0", dir)
	base := s.url + "/r/" + filepath.Base(dir) + "/"
	took := func(what string, ms, most float64) {
		t.Helper()
		t.Logf("%s: %.0f ms", what, ms)
		if ms > most && os.Getenv("FURLONG_TEST_TIMES") != "" {
			t.Errorf("%s took %.0f ms, want at most %.0f", what, ms, most)
		}
	}
	const paint = `performance.getEntriesByName("first-contentful-paint")[0].startTime`
	for _, visit := range []string{"first visit", "second visit"} {
		tb.to(base)
		tb.drawn()
		took(visit+", first paint", eval[float64](tb, paint), 1000)
		took(visit+", all seven charts drawn, at most", eval[float64](tb, `performance.now()`), 5000)
	}
	tb.shot("overview-large-1280-light")
	tb.to(base + "evals")
	tb.until(`document.querySelector(".card .plot, .card canvas")`)
	took("evaluations, at most", eval[float64](tb, `performance.now()`), 5000)
	for _, q := range []string{"", "truncated -right", "gap>0.12 reward=1", "len>300|max>2", "stale:1", "set:gsm8k -wrong", "cycle:37"} {
		for _, again := range []string{"first", "again"} {
			eval[any](tb, fmt.Sprintf(`(window.took = null, (async () => { const t = performance.now(); await (await fetch("/api/r/%s/samples?sort=-gap&text=1&q=" + encodeURIComponent(%q))).text(); window.took = performance.now() - t; })(), null)`, filepath.Base(dir), q))
			tb.until(`window.took !== null`)
			took(fmt.Sprintf("filter %q, %s", q, again), eval[float64](tb, `window.took`), 500)
		}
	}
	status := fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid)
	var kb int
	if _, err := fmt.Sscan(strings.Fields(line(t, status, "VmHWM:"))[1], &kb); err != nil {
		t.Fatal(err)
	}
	t.Logf("memory of the server: %s, %s", line(t, status, "VmRSS:"), line(t, status, "VmHWM:"))
	if kb > 200<<10 {
		t.Errorf("the server took %d MB, want at most 200", kb>>10)
	}
}

// line returns the line of a file that begins with some text.
func line(t *testing.T, file, begin string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Skip(err)
	}
	for l := range strings.Lines(string(b)) {
		if strings.HasPrefix(l, begin) {
			return strings.Join(strings.Fields(l), " ")
		}
	}
	t.Fatalf("%s has no line %s", file, begin)
	return ""
}
