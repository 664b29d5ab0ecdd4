package store

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"furlong/metrics/run"
	"furlong/metrics/samples"
	"furlong/orchestrator"
	"furlong/rl"
	"furlong/verdict"
)

// checkpointDir is where a run keeps its checkpoints.
const checkpointDir = "checkpoints"

// rescore returns the command that has both engines score one sample again, in the run's formats, and says by which weights. served is the version as its cycle ended.
func (r *Run) rescore(k samples.Key, row samples.Row, served rl.Version) (command, weights string) {
	set, _ := r.readSettings(run.ConfigFile) // a run without settings has the defaults
	words := []string{"furlong parity", side("rollout", set), side("trainer", set)}
	if dtype := settingText(set, "dtype"); dtype != "" && dtype != "bf16" {
		words = append(words, "--dtype", quote(dtype))
	}
	began := int(k.Cycle) // the cycle that ended with the weights which drew it
	if k.Eval == "" {
		began -= 1 + max(0, served.Count()-row.Version.Count())
	}
	at := r.nearestCheckpoint(began, settingText(set, "load") == "")
	model := settingText(set, "hf-checkpoint")
	if at > 0 {
		model = filepath.Join(orchestrator.Checkpoint(filepath.Join(r.dir, checkpointDir), at), "trainer", "model")
	}
	if model != "" {
		words = append(words, "--hf-checkpoint", quote(model))
	}
	words = append(words, "--sequences", quote(filepath.Join(r.dir, bodyFile(k))), "--samples", fmt.Sprintf("%d/%d", row.Group, row.Slot))
	return strings.Join(words, " "), r.weightsOf(at, row)
}

// side names an engine with the formats that it had in the run, where they are not those it has by itself.
func side(engine string, set map[string]setting) string {
	prefix := map[string]string{"rollout": "rollout-", "trainer": "actor-"}[engine]
	var options []string
	for _, o := range []struct{ name, of, plain string }{{"format", prefix + "format", "bf16"}, {"kv", prefix + "kv-format", "auto"}} {
		if v := settingText(set, o.of); v != "" && v != o.plain {
			options = append(options, o.name+"="+v)
		}
	}
	if options == nil {
		return engine
	}
	return quote(engine + ":" + strings.Join(options, ","))
}

// settingText returns a setting that is text; empty where it is none, or not there.
func settingText(set map[string]setting, name string) string {
	var text string
	if json.Unmarshal(set[name].Value, &text) != nil {
		return ""
	}
	return text
}

// nearestCheckpoint returns the cycle of the checkpoint nearest to the end of a cycle; of two the older. 0 is the start of the run, which counts as one unless the run went on
// from elsewhere.
func (r *Run) nearestCheckpoint(cycle int, start bool) int {
	best, found := 0, start
	for _, e := range r.entries(checkpointDir) {
		n, ok := strings.CutPrefix(e.Name(), "step-")
		c, err := strconv.Atoi(n)
		if !ok || err != nil || c < 1 || !e.IsDir() || r.inside(checkpointDir) != nil {
			continue
		}
		if d, least := abs(c-cycle), abs(best-cycle); !found || d < least || d == least && c < best {
			best, found = c, true
		}
	}
	return best
}

func abs(n int) int { return max(n, -n) }

// weightsOf says whose weights those of a checkpoint are, seen from a sample. A checkpoint's are the version that comes after those it had pushed; the start's are the first.
func (r *Run) weightsOf(at int, row samples.Row) string {
	name, count := "the weights that the run began with", 1
	if at > 0 {
		name = fmt.Sprintf("the checkpoint of cycle %d", at)
		file := filepath.Join(checkpointDir, filepath.Base(orchestrator.Checkpoint("", at)))
		if err := r.inside(filepath.Join(file, "loop.json")); err != nil {
			return name
		}
		saved, err := orchestrator.ReadLoop(filepath.Join(r.dir, file))
		if err != nil {
			return name + ", which can't be read"
		}
		count = saved.Pushes + 1
	}
	drew := verdict.Version(row.Version)
	if row.Span > 0 {
		drew += " to " + verdict.Version(rl.NewVersion(row.Version.Epoch(), row.Version.Count()+int(row.Span)))
	}
	if count == row.Version.Count() && row.Span == 0 {
		return fmt.Sprintf("%s: %s, which drew the sample", name, drew)
	}
	return fmt.Sprintf("%s: v%d, where %s drew the sample", name, count, drew)
}
