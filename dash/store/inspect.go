package store

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"furlong/dash/api"
	"furlong/metrics/samples"
	"furlong/rl"
	"furlong/verdict"
)

// answerMax is how much of an answer a group shows, in bytes; a sample shows all of it.
const answerMax = 256 << 10

// Group answers the samples of one prompt side by side.
func (r *Run) Group(cycle int, group uint32, eval string) (*api.Group, error) {
	x := &r.index
	x.mu.Lock()
	defer x.mu.Unlock()
	e, rows, err := x.cycle(cycle, eval)
	if err != nil {
		return nil, err
	}
	out := &api.Group{Cycle: cycle, Group: group, Eval: eval, Rows: []api.Answer{}}
	var groups []uint32
	for i := range rows {
		if g := rows[i].Group; !slices.Contains(groups[max(0, len(groups)-1):], g) {
			groups = append(groups, g)
		}
	}
	slices.Sort(groups)
	groups = slices.Compact(groups)
	at, ok := slices.BinarySearch(groups, group)
	if !ok {
		return nil, asked(Missing, "cycle %d has no group %d", cycle, group)
	}
	if at > 0 {
		out.Prev = fmt.Sprintf("%d/%d", cycle, groups[at-1])
	}
	if at+1 < len(groups) {
		out.Next = fmt.Sprintf("%d/%d", cycle, groups[at+1])
	}
	x.answers(out, e, rows)
	return out, nil
}

// answers fills a group from its body. Where that is not kept, the rows of the index remain.
func (x *sampleIndex) answers(out *api.Group, e *entry, rows []samples.Row) {
	var texts []string
	for i := range rows {
		if rows[i].Group != out.Group {
			continue
		}
		a := api.Answer{Sample: x.sample(&rows[i], e)}
		out.Set = a.Set
		if s, err := x.stored(e.Key, rows[i].Group, rows[i].Slot); err == nil {
			out.ID, out.Prompt, out.Label = clean(s.Prompt.ID), clean(s.Prompt.Text), clean(s.Prompt.Label)
			text := s.Text
			if len(text) > answerMax {
				text, a.Cut = text[:answerMax], true
			}
			a.Answer, a.Stop, a.Why = clean(text), s.Stop.String(), clean(s.Why)
			a.Text = beginning(s.Text, 120)
		}
		out.Rows = append(out.Rows, a)
		texts = append(texts, a.Answer)
	}
	slices.SortFunc(out.Rows, func(a, b api.Answer) int { return cmp.Compare(a.Slot, b.Slot) })
	out.Common = common(texts)
	out.Text = signal(out.Rows)
}

// clean makes text fit for JSON: what is not UTF-8 is shown by its replacement.
func clean(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// common returns how many UTF-16 units all texts begin with; 0 for a single one.
func common(texts []string) int {
	if len(texts) < 2 {
		return 0
	}
	n := len(texts[0])
	for _, t := range texts[1:] {
		n = min(n, len(t))
		for i := range n {
			if t[i] != texts[0][i] {
				n = i
				break
			}
		}
	}
	for n > 0 && n < len(texts[0]) && !utf8.RuneStart(texts[0][n]) {
		n--
	}
	return len(utf16.Encode([]rune(texts[0][:n])))
}

// signal says what a group's rewards teach.
func signal(rows []api.Answer) string {
	right, same := 0, true
	for _, r := range rows {
		if r.Verdict == rl.Right.String() {
			right++
		}
		same = same && r.Reward == rows[0].Reward
	}
	text := fmt.Sprintf("%d of %d right", right, len(rows))
	if same && len(rows) > 1 {
		return text + ": no signal, all rewards equal"
	}
	return text
}

// A SampleID names one sample.
type SampleID struct {
	Cycle int
	Group uint32
	Slot  int
	Eval  string
}

// Inspect answers one sample token by token: response tokens from one to another, all for to < 0.
func (r *Run) Inspect(id SampleID, from, to int) (*api.Inspect, error) {
	served := r.served(id.Cycle)
	x := &r.index
	x.mu.Lock()
	defer x.mu.Unlock()
	e, rows, err := x.cycle(id.Cycle, id.Eval)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(rows, func(r samples.Row) bool { return r.Group == id.Group && int(r.Slot) == id.Slot })
	if at < 0 {
		return nil, asked(Missing, "cycle %d has no sample %d of group %d", id.Cycle, id.Slot, id.Group)
	}
	s, err := x.stored(e.Key, id.Group, uint16(id.Slot))
	if err != nil {
		return nil, err
	}
	out := inspect(s, from, to)
	out.Sample = x.sample(&rows[at], e)
	if served > 0 {
		out.Served = verdict.Version(served)
	}
	out.Sample.Text = beginning(s.Text, 120)
	for i := range rows {
		if rows[i].Group == id.Group {
			out.Slots = append(out.Slots, int(rows[i].Slot))
		}
	}
	slices.Sort(out.Slots)
	out.Command, out.Weights = r.rescore(e.Key, rows[at], served)
	return out, nil
}

// served returns the version that served as a cycle ended; 0 without a row.
func (r *Run) served(cycle int) rl.Version {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.look() != nil {
		return 0
	}
	t := r.table
	i := t.find(int32(cycle))
	if i == len(t.points) || int(t.points[i].cycle) != cycle {
		return 0
	}
	return rl.Version(t.live(t.points[i]).version)
}

func inspect(s *samples.Stored, from, to int) *api.Inspect {
	n := len(s.Response)
	if to < 0 || to > n {
		to = n
	}
	from = min(max(from, 0), to)
	p := len(s.Prompt.Tokens)
	out := &api.Inspect{
		Request: s.Request, ID: clean(s.Prompt.ID), Label: clean(s.Prompt.Label), Stop: s.Stop.String(), Why: clean(s.Why), Cached: s.CachedTokens, Retracted: s.Retractions,
		Sampling: sampling(s.Sampling), Prompt: tokens(s.Prompt.Tokens, s.Texts[:p]), Response: tokens(s.Response[from:to], s.Texts[p+from:p+to]),
		From: from, To: to, Len: n, Slots: []int{}, Absent: map[string]string{},
	}
	if out.Experts = routes(s, from, to); out.Experts == nil {
		out.Absent["experts"] = "no experts of this sample were kept (--keep-experts says of which tokens they are; servers tell them with --enable-return-routed-experts); the page of experts shows their load"
	}
	for _, c := range []struct {
		to   *[]api.Number
		v    []float32
		name string
		why  string
	}{
		{&out.Rollout, s.LogProbs, "rollout", "the rollout engine gave no logprobs"},
		{&out.Truncated, s.TruncLogProbs, "truncated", "nothing was cut by top-k, top-p or min-p"},
		{&out.Train, s.TrainLogProbs, "train", "the trainer did not score this sample"},
		{&out.Reference, s.RefLogProbs, "reference", "there is no reference model"},
		{&out.Entropy, s.Entropy, "entropy", "entropy was not measured"},
		{&out.Ratio, s.Ratio, "ratio", "ratios that were used are not kept"},
	} {
		if c.v == nil {
			out.Absent[c.name] = c.why
			continue
		}
		*c.to = make([]api.Number, 0, to-from)
		for _, v := range c.v[from:to] {
			*c.to = append(*c.to, logprob(v))
		}
	}
	if s.Mask != nil {
		out.Mask = []int{}
		for _, m := range s.Mask[from:to] {
			out.Mask = append(out.Mask, one(m))
		}
	}
	at := 0
	for _, v := range s.Versions {
		out.Versions = append(out.Versions, api.VersionRun{Version: verdict.Version(v.Version), From: at, To: at + v.Tokens})
		at += v.Tokens
	}
	out.Order = order(s)
	return out
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// logprob is a number of a token, of which NaN is one: it was measured, and came out so.
func logprob(v float32) api.Number {
	if v != v {
		return `"NaN"`
	}
	return api.Float32(v)
}

func sampling(s rl.Sampling) map[string]any {
	out := map[string]any{}
	b, err := json.Marshal(s)
	if err != nil || json.Unmarshal(b, &out) != nil {
		return map[string]any{}
	}
	out["Seed"] = fmt.Sprint(s.Seed) // more digits than a browser's numbers have
	return out
}

// tokens lists ids and texts; a token that is no UTF-8 by itself is also given in bytes.
func tokens(ids []int32, texts []string) api.Tokens {
	t := api.Tokens{IDs: ids, Text: make([]string, len(texts)), Hex: map[int]string{}}
	for i, s := range texts {
		t.Text[i] = clean(s)
		if !utf8.ValidString(s) {
			t.Hex[i] = hex.EncodeToString([]byte(s))
		}
	}
	if t.IDs == nil {
		t.IDs = []int32{}
	}
	return t
}

// orderMax is how many places the order of gaps names.
const orderMax = 1000

// gapOf returns |trainer - rollout| of a token as the index takes it: what is not a number is infinite.
func gapOf(s *samples.Stored, i int) float64 {
	d := math.Abs(float64(s.TrainLogProbs[i]) - float64(s.LogProbs[i]))
	if math.IsNaN(d) {
		return math.Inf(1)
	}
	return d
}

// order returns the response tokens by their gap, largest first, of the tokens that train, or of all if none does.
func order(s *samples.Stored) []int {
	at := places(s)
	slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(gapOf(s, b), gapOf(s, a)) })
	return at[:min(len(at), orderMax)]
}

// places returns the tokens whose gap counts, in order.
func places(s *samples.Stored) []int {
	at := []int{}
	if s.TrainLogProbs == nil || s.LogProbs == nil {
		return at
	}
	all := s.Mask == nil || !slices.Contains(s.Mask, true)
	for i := range s.Response {
		if all || s.Mask[i] {
			at = append(at, i)
		}
	}
	return at
}
