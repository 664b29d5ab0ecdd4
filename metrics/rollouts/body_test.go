package rollouts

import (
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"furlong/metrics/samples"
	"furlong/rl"
)

// body writes samples as a run does.
func body(t *testing.T, b samples.Batch) string {
	t.Helper()
	dir := t.TempDir()
	w, err := samples.Open(dir, samples.Options{Attempt: 1, Text: func(id int32) []byte { return []byte{byte(id)} }, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Add(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, samples.Name(uint32(b.Cycle), b.Eval))
}

// plain strips samples of what a body does not hold.
func plain(all []*rl.Sample) (out []*rl.Sample) {
	for _, s := range all {
		own := *Untrained(s)
		own.Experts, own.Entries, own.Told, own.PromptTold, own.PromptLogProbs = nil, nil, nil, nil, nil
		p := *own.Prompt
		p.ID, p.Label, p.Set, own.Why = "id", "label", "set", "why"
		p.Metadata = []byte(`{"a":1}`)
		own.Prompt = &p
		out = append(out, &own)
	}
	return out
}

// The bodies that runs write hold the samples as the trainer got them.
func TestReadBody(t *testing.T) {
	all := plain(fullBatch(6, 2, 2))
	var b samples.Batch
	for _, s := range all {
		trained := *s
		trained.TrainLogProbs, trained.Entropy, trained.Advantage = []float32{1, 2, 3}, []float32{1, 2, 3}, 4
		b.Samples = append(b.Samples, samples.Sample{Sample: &trained, Mask: s.LossMask})
	}
	b.Samples = append(b.Samples, b.Samples[3])
	b.Samples[4].Dropped = true
	b.Cycle = 12
	r, err := Read(body(t, b))
	if err != nil {
		t.Fatal(err)
	}
	if r.Cycle != 12 || len(r.Samples) != len(all) || r.Samples[0].Prompt != r.Samples[1].Prompt {
		t.Fatalf("cycle %d, %d samples", r.Cycle, len(r.Samples))
	}
	for i, s := range r.Samples {
		if !reflect.DeepEqual(s, all[i]) {
			t.Errorf("sample %d is\n%+v %+v, want\n%+v %+v", i, s, s.Prompt, all[i], all[i].Prompt)
		}
	}
}

// The answers of an evaluation were never meant to train.
func TestReadBodyRefusesEvaluations(t *testing.T) {
	b := samples.Batch{Cycle: 1, Eval: "held-out"}
	for _, s := range plain(fullBatch(6, 1, 1)) {
		b.Samples = append(b.Samples, samples.Sample{Sample: s})
	}
	if _, err := Read(body(t, b)); err == nil || !strings.Contains(err.Error(), "evaluation held-out") {
		t.Errorf("got %v, want a refusal", err)
	}
}

// Untrained leaves the sample that it is given.
func TestUntrained(t *testing.T) {
	s := fullBatch(1, 1, 1)[0]
	had := slices.Clone(s.TrainLogProbs)
	if u := Untrained(s); u.TrainLogProbs != nil || u.Advantage != 0 || u.TrainExperts != nil || u.Entropy != nil || u.RefLogProbs != nil {
		t.Errorf("%+v", u)
	}
	if !slices.Equal(s.TrainLogProbs, had) {
		t.Error("the sample itself was changed")
	}
}
