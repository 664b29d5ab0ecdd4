package main

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"furlong/report"
)

// What a run says of itself at its end is what its page says later.
func TestTrainAndReportSayTheSame(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	ended := succeed(t, flags(tiny(t), dir)...)
	lines := strings.Split(strings.TrimSpace(ended.stdout), "\n")
	var atEnd closing
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &atEnd); err != nil {
		t.Fatal(err)
	}
	var later report.Summary
	if err := json.Unmarshal([]byte(succeed(t, "report", dir, "--json").stdout), &later); err != nil {
		t.Fatal(err)
	}
	if len(atEnd.Verdict) != 4 || !reflect.DeepEqual(atEnd.Verdict, later.Verdict) {
		t.Errorf("the run said %q, its report %q", atEnd.Verdict, later.Verdict)
	}
}
