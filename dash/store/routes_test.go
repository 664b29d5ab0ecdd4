package store

import (
	"encoding/json"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"furlong/metrics/run"
	"furlong/metrics/samples"
	"furlong/rl"
)

// routed are samples of one token of prompt and two of response: experts of both engines, of one, of some tokens, of none.
func routed() []samples.Sample {
	routes := func(rows ...int32) *rl.Routes {
		r := rl.NewRoutes(2, 2, 300)
		r.Add(rows)
		return r
	}
	drawn := routes(0, 1, 2, 299, 4, 5, 6, 7)
	var all []samples.Sample
	for i, pair := range [][2]*rl.Routes{
		{drawn, routes(0, 1, 2, 299, 4, 5, 7, 6)},
		{drawn, nil},
		{nil, drawn},
		{drawn.Head(1), nil},
		{nil, nil},
	} {
		all = append(all, samples.Sample{Sample: &rl.Sample{
			Prompt: &rl.Prompt{Tokens: []int32{1}}, Index: i, Response: []int32{2, 3}, LogProbs: []float32{-1, -1}, TrainLogProbs: []float32{-1, -2},
			Versions: []rl.Span{{Version: 1, Tokens: 2}}, Experts: pair[0], TrainExperts: pair[1],
		}})
	}
	return all
}

// The experts of a response token are those that the token before it chose; what is not kept is not there.
func TestInspectTellsExperts(t *testing.T) {
	dir := t.TempDir()
	w, err := samples.Open(filepath.Join(dir, run.SamplesDir), samples.Options{Attempt: 1, Text: func(int32) []byte { return []byte("x") }, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Add(samples.Batch{Cycle: 1, Samples: routed()}); err != nil {
		t.Fatal(err)
	}
	r := open(t, dir)
	for slot, want := range []string{
		`{"layers":2,"choices":2,"experts":300,"tokens":[{"pos":0,"rollout":[0,1,2,299],"train":null,"same":true},{"pos":1,"rollout":[4,5,6,7],"train":[4,5,7,6],"same":false}]}`,
		`{"layers":2,"choices":2,"experts":300,"tokens":[{"pos":0,"rollout":[0,1,2,299],"train":null,"same":false},{"pos":1,"rollout":[4,5,6,7],"train":null,"same":false}]}`,
		`{"layers":2,"choices":2,"experts":300,"tokens":[{"pos":0,"rollout":null,"train":[0,1,2,299],"same":false},{"pos":1,"rollout":null,"train":[4,5,6,7],"same":false}]}`,
		`{"layers":2,"choices":2,"experts":300,"tokens":[{"pos":0,"rollout":[0,1,2,299],"train":null,"same":false}]}`,
		`null`,
	} {
		got, err := r.Inspect(SampleID{Cycle: 1, Slot: slot}, 0, -1)
		if err != nil {
			t.Fatal(err)
		}
		if b, _ := json.Marshal(got.Experts); string(b) != want {
			t.Errorf("sample %d has experts %s, want %s", slot, b, want)
		}
		if _, absent := got.Absent["experts"]; absent != (got.Experts == nil) {
			t.Errorf("sample %d: said why there are none: %v", slot, absent)
		}
	}
	got, err := r.Inspect(SampleID{Cycle: 1}, 1, 2)
	if err != nil || len(got.Experts.Tokens) != 1 || got.Experts.Tokens[0].Pos != 1 {
		t.Errorf("of the second token alone: %+v, %v", got.Experts, err)
	}
	if got, err := r.Inspect(SampleID{Cycle: 1, Slot: 4}, 0, -1); err != nil || !strings.Contains(got.Absent["experts"], "--keep-experts") {
		t.Errorf("a sample without experts says %q, %v", got.Absent["experts"], err)
	}
}
