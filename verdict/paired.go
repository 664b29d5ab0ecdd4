package verdict

import (
	"fmt"
	"slices"

	"furlong/eval"
	"furlong/metrics/run"
	"furlong/rl"
)

// A Difference is a figure of the second of two evaluations minus that of the first, with its 95 % interval, problems resampled.
type Difference struct {
	Value float64 `json:"value"`
	Lo    float64 `json:"lo"`
	Hi    float64 `json:"hi"`
}

// Paired returns the difference of pass@k of two evaluations over the problems that both have k judged answers of. Without any, there is none.
func Paired(before, after run.Evaluation, k int) (Difference, bool, error) {
	b, a := both(Problems(before), Problems(after), k)
	if len(a) == 0 {
		return Difference{}, false, nil
	}
	d, err := eval.Difference(b, a, k, seed(before))
	if err != nil {
		return Difference{}, false, fmt.Errorf("evaluations %s of cycles %d and %d: %w", before.Name, before.Cycle, after.Cycle, err)
	}
	return Difference{d.Value, d.Low, d.High}, true, nil
}

// Problems returns the problems of an evaluation that a run has written.
func Problems(e run.Evaluation) (out []eval.Problem) {
	for _, p := range e.Problems {
		invalid := 0
		for _, a := range p.Samples {
			if a.Verdict == rl.Invalid.String() {
				invalid++
			}
		}
		out = append(out, eval.Problem{ID: p.ID, N: p.N - invalid, C: p.C, Truncated: p.Truncated, Invalid: invalid})
	}
	return out
}

// both returns the problems of a and b that are in both with k judged answers, in one order.
func both(a, b []eval.Problem, k int) (inA, inB []eval.Problem) {
	at := map[string]eval.Problem{}
	for _, p := range b {
		at[p.ID] = p
	}
	for _, p := range a {
		if q, ok := at[p.ID]; ok && p.N >= k && q.N >= k {
			inA, inB = append(inA, p), append(inB, q)
			delete(at, p.ID)
		}
	}
	return slices.Clip(inA), slices.Clip(inB)
}

// seed returns the seed that the evaluation's answers were drawn with, from which its intervals were made as well.
func seed(e run.Evaluation) uint64 {
	if v, ok := e.Settings["seed"].(float64); ok && v >= 0 {
		return uint64(v)
	}
	return 0
}
