package metrics

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var rewrite = flag.Bool("update", false, "rewrite docs/formats/metrics.md from the table")

var example = strings.NewReplacer("{name}", "aime-2024", "{group}", "experts", "{k}", "8", "{i}", "0", "{layer}", "12",
	"{bucket}", "256-511", "{reward}", "-1.0", "{reason}", "zero_std_0.0", "{category}", "format", "{part}", "pack", "{label}", "start")

func TestEverySeriesFindsItself(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range All() {
		name := example.Replace(s.Name)
		if strings.ContainsAny(name, "{}") {
			t.Errorf("%s: no example for a placeholder", s.Name)
		}
		if got, ok := Lookup(name); !ok || got.Name != s.Name {
			t.Errorf("Lookup(%q) = %q, %v, want %q", name, got.Name, ok, s.Name)
		}
		if seen[s.Name] {
			t.Errorf("%s stands twice in the table", s.Name)
		}
		seen[s.Name] = true
		if s.Meaning == "" || s.Unit == "" || !strings.Contains(s.Name, "/") {
			t.Errorf("%q: unit %q, meaning %q, want a family, a unit and a meaning", s.Name, s.Unit, s.Meaning)
		}
		if strings.HasPrefix(s.Name, "perf/") && !s.Wall {
			t.Errorf("%s is not marked as depending on the clock", s.Name)
		}
	}
}

func TestUnitsAreFew(t *testing.T) {
	units := strings.Fields(`1 s ms nats tokens samples groups prompts versions cycles steps evals updates tensors experts epochs
		share percent ratio reward reward^2 bytes GB tok/s TFLOP/s`)
	for _, s := range All() {
		if !slices.Contains(units, s.Unit) {
			t.Errorf("%s: unit %q is not among %v", s.Name, s.Unit, units)
		}
	}
}

// Names that other tools and the specification count on, and some that must not pass.
func TestLookup(t *testing.T) {
	for _, tt := range []struct{ name, want string }{
		{"train/logp_diff/p999", "train/logp_diff/p999"},
		{"train/logp_diff/frac_gt_0.5", "train/logp_diff/frac_gt_0.5"},
		{"train/lr-pg_0", "train/lr-pg_{i}"},
		{"rollout/zero_std/count_0.0", "rollout/zero_std/count_{reward}"},
		{"rollout/dynamic_filter/drop_zero_std_1.0", "rollout/dynamic_filter/drop_{reason}"},
		{"eval/aime-2024", "eval/{name}"},
		{"eval/aime-2024-pass@16", "eval/{name}-pass@{k}"},
		{"eval/aime-2024-pass@1_lo", "eval/{name}-pass@{k}_lo"},
		{"eval/aime-2024-truncated_ratio", "eval/{name}-truncated_ratio"},
		{"eval/aime-2024/response_len/median", "eval/{name}/response_len/median"},
		{"eval/duration_seconds", "eval/duration_seconds"},
		{"perf/update_weights_stop_time", "perf/update_weights_stop_time"},
		{"perf/update_weights_send_time", "perf/update_weights_{part}_time"},
		{"moe/load_cv/3", "moe/load_cv/{layer}"},
		{"train/los", ""},
		{"train/loss ", ""},
		{"loss", ""},
		{"", ""},
		{"eval/a b", ""},
		{"eval/a\n", ""},
		{"eval/{name}", ""},
		{"eval/x-pass@k", ""},
		{"train/lr-pg_", ""},
	} {
		if got, _ := Lookup(tt.name); got.Name != tt.want {
			t.Errorf("Lookup(%q) = %q, want %q", tt.name, got.Name, tt.want)
		}
	}
}

func TestPartsOfTheClock(t *testing.T) {
	var got []string
	for _, s := range All() {
		if s.Part {
			got = append(got, s.Name)
		}
	}
	want := []string{"perf/train_time", "perf/update_weights_time", "perf/eval_time", "perf/save_model_time", "perf/rollout_wait_time", "perf/reward_wait_time", "perf/other_time"}
	if !slices.Equal(got, want) {
		t.Errorf("parts are %v, want %v", got, want)
	}
}

const page = "../docs/formats/metrics.md"

func TestPageIsTheTable(t *testing.T) {
	want := markdown()
	if *rewrite {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the table says; go test ./metrics -update rewrites it", page)
	}
}

const pageHead = `# Metrics

Made from the table in ` + "`metrics/series.go`" + ` by its test; a change here is undone by ` + "`go test ./metrics -update`" + `.

` + "`metrics.jsonl`" + ` has one line a cycle and one a round of evaluations. A line is a flat JSON object:

` + "```" + `
{"kind":"cycle","cycle":37,"step":37,"version":38,"attempt":1,"time":1764403200.25,"rollout/raw_reward":0.53,"train/loss":-0.002}
  |             |          |         |            |           |                    '- series, in the order of their names
  |             |          |         |            |           '- seconds since 1970, UTC
  |             |          |         |            '- number of the start of the run that wrote the row, from 1
  |             |          |         '- version served: 8 bits epoch, 24 bits publication number (epoch = attempt that published it - 1)
  |             |          '- optimizer steps taken
  |             '- from 1; an evaluation before the first cycle has cycle 0
  '- cycle, or eval
` + "```" + `

- (kind, cycle, attempt) names a row. The row of the highest attempt counts; a run that was resumed may hold others, and they should be equal but for
  attempt, epoch and the series marked "clock" below.
- A series that was not measured is absent; readers take null for absent. What is not finite is the string "NaN", "Infinity" or "-Infinity".
- Numbers are the shortest decimals that read back as the same float64.
- A line without its line feed is still being written. A writer that finds one when it resumes cuts it off, or ends it if only the line feed is missing.
- Series outside of this table are not written. Readers keep those they do not know.

In names, {k}, {i} and {layer} stand for digits, other braces for letters, digits, _ . and -. "clock" marks what differs between two runs
of one seed; "part" marks the parts of the trainer's clock, which add up to perf/step_time.
`

func markdown() string {
	var b strings.Builder
	b.WriteString(pageHead)
	last := ""
	for _, s := range All() {
		family, _, _ := strings.Cut(s.Name, "/")
		if family != last {
			fmt.Fprintf(&b, "\n## %s/\n| series | unit | meaning | |\n|---|---|---|---|\n", family)
			last = family
		}
		mark := ""
		if s.Wall {
			mark = "clock"
		}
		if s.Part {
			mark = "clock, part"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", s.Name, s.Unit, strings.ReplaceAll(s.Meaning, "|", "\\|"), mark)
	}
	return b.String()
}
