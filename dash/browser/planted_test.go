package browser

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// faults are what dashgen planted, as planted.json lists it.
type faults struct {
	Jump struct {
		Cycle   int `json:"cycle"`
		Group   int `json:"group"`
		Samples []struct {
			Slot    int     `json:"slot"`
			Pos     int     `json:"pos"`
			Rollout float64 `json:"rollout"`
			Train   float64 `json:"train"`
			Layer   int     `json:"layer"` // in which the routers differ
		} `json:"samples"`
	} `json:"jump"`
	Hostile int `json:"hostile"`
	Crash   struct {
		Lost  [2]int `json:"lost"`
		Again []int  `json:"again"`
	} `json:"crash"`
}

func planted(t *testing.T) (f faults) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(made(t), "planted.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	if f.Jump.Cycle == 0 || len(f.Jump.Samples) == 0 || f.Hostile == 0 {
		t.Fatalf("planted.json holds %+v, want a jump and hostile texts", f)
	}
	return f
}

// stored reads metrics.jsonl anew: for each cycle, each series as its bytes stand. Of a cycle that ran twice the later attempt counts.
func stored(t *testing.T, dir string) map[int]map[string]string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[int]map[string]string{}
	attempts := map[string]float64{}
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var row map[string]json.RawMessage
		if json.Unmarshal(lines.Bytes(), &row) != nil || row["cycle"] == nil {
			continue
		}
		keep(t, out, attempts, row)
	}
	return out
}

func keep(t *testing.T, out map[int]map[string]string, attempts map[string]float64, row map[string]json.RawMessage) {
	t.Helper()
	var cycle int
	var attempt float64
	if err := json.Unmarshal(row["cycle"], &cycle); err != nil {
		return
	}
	_ = json.Unmarshal(row["attempt"], &attempt)
	name := string(row["kind"]) + string(row["cycle"])
	if attempt < attempts[name] {
		return
	}
	attempts[name] = attempt
	if out[cycle] == nil {
		out[cycle] = map[string]string{}
	}
	for k, v := range row {
		out[cycle][k] = string(v)
	}
}
