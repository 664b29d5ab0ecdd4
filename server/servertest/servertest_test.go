package servertest

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

var (
	at       = flag.String("url", "", "address of a running server to ask")
	key      = flag.String("api-key", "", "its API key")
	model    = flag.String("model", "", "folder of the checkpoint that it serves")
	other    = flag.String("other-model", "", "folder of a checkpoint of the same shape with other numbers, which the server may load")
	format   = flag.String("format", "bf16", "format of both: bf16, fp8, fp8+fp4")
	room     = flag.String("room", "", "folder from which the server may load weights, and into which tests write")
	upstream = flag.Bool("upstream", false, "the server is SGLang's own: leave out what Furlong decided for itself")
	markdown = flag.Bool("markdown", false, "print the table of checks")
)

// TestURL asks the server that -url names.
func TestURL(t *testing.T) {
	if *at == "" {
		t.Skip("no -url given")
	}
	g := &Target{
		URL: strings.TrimSuffix(*at, "/"), Key: *key, Model: *model, Room: *room, Upstream: *upstream, Python: os.Getenv("FURLONG_TEST_PYTHON"),
	}
	if *model != "" && *other != "" {
		g.Weights = map[string]Pair{*format: {A: *model, B: *other}}
	}
	Run(t, g, nil)
}

func TestTable(t *testing.T) {
	if *markdown {
		fmt.Print(Markdown())
	}
	kinds := map[string]bool{}
	for _, g := range Groups() {
		kinds[g.Name] = true
	}
	name := regexp.MustCompile(`^[a-z0-9_]+$`)
	for i, test := range Tests() {
		if test.Number != i+1 {
			t.Fatalf("check %d has the number %d", i+1, test.Number)
		}
		if !kinds[test.Group.Name] || !name.MatchString(test.Name) || test.Means == "" || test.do == nil {
			t.Errorf("T%02d: %+v is not whole", test.Number, test)
		}
	}
	if got := len(Tests()); got != 124 {
		t.Errorf("%d checks, want 124", got)
	}
	if rows := strings.Count(Markdown(), "\n| T"); rows < 124 {
		t.Errorf("the table has %d rows", rows)
	}
}
