package journal

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"furlong/orchestrator"
	"furlong/rl"
)

// How much is computed again: so many samples, those with the worst tokens, up to these, and so many tokens with their prompts.
const (
	suspectSamples = 8
	suspectTokens  = 8192
)

// A suspect is a sample up to its worst token.
type suspect struct {
	*rl.Sample
	gap float64 // of that token
}

// suspects returns what is worth computing again: the samples with the largest gaps, the largest first.
func suspects(all []*rl.Sample) (found []*rl.Sample) {
	var worst []suspect
	for _, s := range all {
		if at, gap := worstToken(s); gap > 0 {
			cut := *s
			cut.Response = s.Response[:at+1]
			worst = append(worst, suspect{&cut, gap})
		}
	}
	slices.SortStableFunc(worst, func(a, b suspect) int {
		switch {
		case a.gap > b.gap:
			return -1
		case a.gap < b.gap:
			return 1
		}
		return 0
	})
	room := suspectTokens
	for _, w := range worst {
		n := len(w.Prompt.Tokens) + len(w.Response)
		if len(found) == suspectSamples {
			break
		}
		if n <= room {
			found = append(found, w.Sample)
			room -= n
		}
	}
	return found
}

// worstToken returns the token of s with the largest gap, and that. What is no number is infinitely far.
func worstToken(s *rl.Sample) (at int, gap float64) {
	if len(s.TrainLogProbs) != len(s.LogProbs) {
		return 0, 0
	}
	for i := range s.LogProbs {
		if d := distance(s.TrainLogProbs[i], s.LogProbs[i]); d > gap {
			at, gap = i, d
		}
	}
	return at, gap
}

func distance(a, b float32) float64 {
	d := math.Abs(float64(a) - float64(b))
	if d != d {
		return math.Inf(1)
	}
	return d
}

// A comparison is what computing suspects again has shown, over the tokens that the version that serves has chosen.
type comparison struct {
	*rl.Rescored
	samples, tokens, old   int     // suspects; their tokens of this version, and of others
	cached                 int     // suspects that began with rows from the prefix cache
	moved, strayed         int     // tokens whose bits differ: of the sample from the cold engine, of the engine asked again from the cold one
	trainer, said, oldSaid float64 // largest gaps to the trainer: of the cold engine, of what the samples say; of old tokens
	from, to               rl.Version
}

func compare(samples []*rl.Sample, r *rl.Rescored) comparison {
	c := comparison{Rescored: r, samples: len(samples)}
	for i, s := range samples {
		if s.CachedTokens > 0 {
			c.cached++
		}
		at := 0
		for _, span := range s.Versions {
			for end := min(at+span.Tokens, len(s.Response)); at < end; at++ {
				c.token(s, at, span.Version, r.Cold[i][at], r.Running[i][at])
			}
		}
	}
	return c
}

// token adds a token.
func (c *comparison) token(s *rl.Sample, i int, v rl.Version, cold, running float32) {
	if math.Float32bits(cold) != math.Float32bits(running) {
		c.strayed++
	}
	if v != c.Version {
		if c.old++; c.from == 0 || v.Count() < c.from.Count() {
			c.from = v
		}
		c.oldSaid = max(c.oldSaid, distance(s.TrainLogProbs[i], s.LogProbs[i]))
		return
	}
	c.tokens++
	if math.Float32bits(cold) != math.Float32bits(s.LogProbs[i]) {
		c.moved++
	}
	c.trainer = max(c.trainer, distance(s.TrainLogProbs[i], cold))
	c.said = max(c.said, distance(s.TrainLogProbs[i], s.LogProbs[i]))
}

// cause says what a gap probably comes from, and what to do next.
func (j *Journal) cause(r *orchestrator.Report) string {
	found := suspects(r.Samples)
	switch {
	case len(found) == 0:
		return ""
	case r.Rescore == nil:
		return "The cause is not told apart: " + j.Blind + ". Next: " + j.parity()
	}
	said, err := r.Rescore(found)
	if err != nil {
		return fmt.Sprintf("The cause is not told apart: the suspicious tokens could not be computed again: %v. Next: %s", err, j.parity())
	}
	c := compare(found, said)
	c.to = r.Version
	return j.judge(c, fresh(r.Stats))
}

// fresh reports whether the trainer held the weights that the batch was drawn with.
func fresh(s rl.Stats) bool {
	age, known := s["rollout/staleness/max"]
	return known && age == 0 && s["rollout/staleness/steps"] == 0
}

// judge puts a comparison into words. What is wrong with the engine's memory goes before everything else: it is certain.
func (j *Journal) judge(c comparison, fresh bool) string {
	switch {
	case len(c.Damaged) > 0:
		return fmt.Sprintf("Likely cause: damaged weights in the running rollout engine: %s not what came with version %v. On %d suspicious tokens of %d samples what it said is up to %.2g nats from the trainer. %s",
			are(c.Damaged), c.Version, c.tokens+c.old, c.samples, max(c.said, c.oldSaid), j.again(""))
	case len(c.Stale) > 0:
		return fmt.Sprintf("Likely cause: stale or damaged derived state in the running rollout engine: what its products read of %s is not what its weights give. %s. %s",
			few(c.Stale), c.agreement(), j.again(" --check-weight-update-equal"))
	case c.strayed > 0:
		return fmt.Sprintf("Likely cause: stale or damaged state in the running rollout engine, and neither its weights nor what is derived from them: asked again, without pages, it differs from a cold engine of version %v on %d tokens. %s. %s",
			c.Version, c.strayed, c.agreement(), j.again(""))
	case !fresh || c.tokens == 0:
		return c.age()
	case c.moved > 0:
		return fmt.Sprintf("Likely cause: stale or damaged attention state in the running rollout engine (pages, prefix cache, rows kept over an update): %s. Asked again without pages the running engine agrees with the cold one, and its weights and what is derived from them are those of version %v; %d of the %d samples began with rows from the cache. %s",
			lower(c.agreement()), c.Version, c.cached, c.samples, j.again(" --sglang-disable-radix-cache"))
	}
	return c.numerics(j.Mixed) + " Next: " + j.parity()
}

// agreement tells how the cold engine and what the samples say stand to the trainer.
func (c *comparison) agreement() string {
	return fmt.Sprintf("On %d suspicious tokens of %d samples a cold engine of version %v is at most %.2g nats from the trainer, and what the running one said up to %.2g", c.tokens, c.samples, c.Version, c.trainer, c.said)
}

func (c *comparison) numerics(mixed bool) string {
	why := "the two engines compute differently, or the trainer's own state is not what it published"
	if mixed {
		why = "the two engines compute differently, by their formats or by more than these"
	}
	return fmt.Sprintf("Likely cause: numerics: a cold engine of version %v gives the running one's logprobs bit for bit (%d suspicious tokens of %d samples, up to %.2g nats from the trainer's), and weights and what is derived from them are those that came: %s.",
		c.Version, c.tokens, c.samples, c.said, why)
}

// age says that the tokens are old.
func (c *comparison) age() string {
	by := "before the trainer's last steps"
	if c.old > 0 {
		by = fmt.Sprintf("by version %v and later, before what serves now (%v)", c.from, c.to)
	}
	return fmt.Sprintf("Likely cause: old tokens, not a fault: they were chosen %s, so that the gap (up to %.2g nats) holds what training changed since. The running engine is sound now: weights, what is derived from them and what it computes without pages are those of a cold engine of version %v. Next: nothing, or fresher samples: --loop sync, a smaller --update-weights-interval, a smaller --lr",
		by, max(c.oldSaid, c.said), c.Version)
}

// again is the advice to go on with a new engine.
func (j *Journal) again(more string) string {
	return fmt.Sprintf("Next: end the run (Ctrl-C leaves a checkpoint) and go on with a new engine: furlong train --run-dir %s --resume%s", j.Dir.Path(), more)
}

// parity returns the command that holds the engines against each other.
func (j *Journal) parity() string {
	if j.Parity == nil {
		return "furlong parity"
	}
	return j.Parity()
}

// are names tensors, and says that they are.
func are(names []string) string {
	if len(names) == 1 {
		return names[0] + " is"
	}
	return few(names) + " are"
}

// few names the first of many.
func few(names []string) string {
	const shown = 3
	text := strings.Join(names[:min(shown, len(names))], ", ")
	if n := len(names) - shown; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

func lower(s string) string { return strings.ToLower(s[:1]) + s[1:] }
