package gather

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"furlong/rl"
)

// Why something was dropped or masked. Those that a filter dropped have its reason behind "filter:".
const (
	Stale       = "stale"        // older than --max-weight-staleness
	Surplus     = "surplus"      // the batch was full before it was finished
	Aborted     = "aborted"      // ended from outside
	EngineError = "engine_error" // the engine failed at it too often
	GraderError = "grader_error" // the grader failed, not at a sample but altogether
	Invalid     = "invalid"      // the grader could not judge it, or there was no token
	Skipped     = "skipped"      // the trainer took no step with its batch
	OffPolicy   = "offpolicy"    // of an earlier version, with --mask-offpolicy-in-partial-rollout
	Context     = "context"      // nobody's choice, but what a tool or a person said: a recording that is trained on says so
	Replaced    = "replaced"     // others took their place before the trainer had them: --ci-inject-rollout-data-path
	ofFilter    = "filter:"
)

// A Tally says what became of things of one kind.
type Tally struct {
	Generated int64            `json:"generated"`
	Trained   int64            `json:"trained"`
	Masked    map[string]int64 `json:"masked,omitempty"`  // by reason
	Dropped   map[string]int64 `json:"dropped,omitempty"` // by reason
	Waiting   int64            `json:"waiting"`           // counted where they lie
}

// An Account says of everything that was handed out since the run began what became of it.
type Account struct {
	Tokens  Tally `json:"tokens"`  // of responses, as far as they came back
	Samples Tally `json:"samples"` // asked for; masked are those without a token that trains
	Prompts Tally `json:"prompts"` // handed out; trained are those of which a sample did
}

func sum(m map[string]int64) (n int64) {
	for _, v := range m {
		n += v
	}
	return n
}

// rest returns what a tally has no place for: 0 if nothing is lost.
func (t Tally) rest() int64 {
	return t.Generated - t.Trained - sum(t.Masked) - sum(t.Dropped) - t.Waiting
}

func (t Tally) clone() Tally {
	t.Masked, t.Dropped = maps.Clone(t.Masked), maps.Clone(t.Dropped)
	return t
}

func (t *Tally) mask(reason string, n int64) { add(&t.Masked, reason, n) }
func (t *Tally) drop(reason string, n int64) { add(&t.Dropped, reason, n) }

func add(m *map[string]int64, key string, n int64) {
	if n == 0 {
		return
	}
	if *m == nil {
		*m = map[string]int64{}
	}
	(*m)[key] += n
}

// Clone returns a copy in memory of its own.
func (a Account) Clone() Account {
	return Account{a.Tokens.clone(), a.Samples.clone(), a.Prompts.clone()}
}

// Check reports what the account has lost, or has twice.
func (a Account) Check() error {
	for _, k := range a.kinds() {
		if n := k.tally.rest(); n != 0 {
			return fmt.Errorf("the account of %s does not add up: %d generated, but %d trained, %d masked, %d waiting, %d dropped: %d are missing",
				k.name, k.tally.Generated, k.tally.Trained, sum(k.tally.Masked), k.tally.Waiting, sum(k.tally.Dropped), n)
		}
	}
	return nil
}

type kind struct {
	name  string
	tally Tally
}

func (a Account) kinds() []kind {
	return []kind{{"tokens", a.Tokens}, {"samples", a.Samples}, {"prompts", a.Prompts}}
}

// Stats returns the account under its metric names.
func (a Account) Stats() rl.Stats {
	out := rl.Stats{}
	for _, k := range a.kinds() {
		pre, t := "account/"+k.name+"/", k.tally
		out[pre+"generated"], out[pre+"trained"], out[pre+"waiting"] = float64(t.Generated), float64(t.Trained), float64(t.Waiting)
		out[pre+"masked"], out[pre+"dropped"] = float64(sum(t.Masked)), float64(sum(t.Dropped))
	}
	for reason, n := range a.Tokens.Dropped {
		out["account/tokens/dropped/"+series(reason)] = float64(n)
	}
	for reason, n := range a.Tokens.Masked {
		out["account/tokens/masked/"+series(reason)] = float64(n)
	}
	return out
}

// series returns a reason as names of series may have it.
func series(reason string) string { return strings.ReplaceAll(reason, ":", ".") }

// String says what became of the tokens.
func (a Account) String() string {
	t := a.Tokens
	var b strings.Builder
	fmt.Fprintf(&b, "%d generated = %d trained + %d masked + %d waiting + %d dropped", t.Generated, t.Trained, sum(t.Masked), t.Waiting, sum(t.Dropped))
	for i, reason := range slices.Sorted(maps.Keys(t.Dropped)) {
		fmt.Fprintf(&b, "%s%d %s", [2]string{", ", " ("}[btoi(i == 0)], t.Dropped[reason], reason)
	}
	if len(t.Dropped) > 0 {
		b.WriteString(")")
	}
	return b.String()
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// wait counts what lies in a group that waits.
func (a *Account) wait(g *Group) {
	a.Tokens.Waiting += int64(g.tokens())
	a.Samples.Waiting += int64(len(g.Samples))
	a.Prompts.Waiting++
}

// leave is the opposite of wait, for a group that had so many tokens when it was counted.
func (a *Account) leave(g *Group, tokens int) {
	a.Tokens.Waiting -= int64(tokens)
	a.Samples.Waiting -= int64(len(g.Samples))
	a.Prompts.Waiting--
}

// drop books a whole group as gone.
func (a *Account) drop(g *Group, reason string) {
	a.Tokens.drop(reason, int64(g.tokens()))
	a.Samples.drop(reason, int64(len(g.Samples)))
	a.Prompts.drop(reason, 1)
}

// replace books that a group trains with other samples than were drawn, if it does.
func (a *Account) replace(g *Group, drawn int) {
	if n := g.tokens(); n != drawn {
		a.Tokens.Generated += int64(n)
		a.Tokens.drop(Replaced, int64(drawn))
	}
}

// train books a group that the trainer was given, with a step or without one.
func (a *Account) train(g *Group, stepped bool) {
	trained, masked := 0, false
	for _, s := range g.Samples {
		n := int64(len(s.Response))
		open := n - covered(s)
		switch {
		case !trains(s):
			a.Tokens.drop(Invalid, n)
			a.Samples.drop(Invalid, 1)
			continue
		case !stepped:
			a.Tokens.drop(Skipped, open)
		default:
			a.Tokens.Trained += open
		}
		switch {
		case open == 0:
			masked = true
			a.Samples.mask(mostly(g.Masked), 1)
		case !stepped:
			a.Samples.drop(Skipped, 1)
		default:
			trained++
			a.Samples.Trained++
		}
	}
	for reason, n := range g.Masked {
		a.Tokens.mask(reason, int64(n))
	}
	switch {
	case trained > 0:
		a.Prompts.Trained++
	case masked && stepped:
		a.Prompts.mask(mostly(g.Masked), 1)
	case len(judged(g.Samples)) > 0 && !stepped:
		a.Prompts.drop(Skipped, 1)
	default:
		a.Prompts.drop(Invalid, 1)
	}
}

// trains reports whether the trainer takes a sample: it was judged, and there is something of it.
func trains(s *rl.Sample) bool {
	return (s.Verdict == rl.Right || s.Verdict == rl.Wrong) && len(s.Response) > 0
}

// covered returns how many tokens of s do not train.
func covered(s *rl.Sample) (n int64) {
	for _, open := range s.LossMask {
		if !open {
			n++
		}
	}
	return n
}

// mostly returns the reason of most masked tokens.
func mostly(masked map[string]int) string {
	best := OffPolicy
	for _, reason := range slices.Sorted(maps.Keys(masked)) {
		if masked[reason] > masked[best] {
			best = reason
		}
	}
	return best
}
