package eval

import (
	"fmt"
	"reflect"
	"strings"

	"furlong/rl"
)

// A Comparison says what changed from one evaluation to another of the same problems.
type Comparison struct {
	Set       string   `json:"set"`
	Problems  int      `json:"problems"`
	Intervals Method   `json:"intervals"`
	Scores    []Paired `json:"scores"`
	Better    int      `json:"better"` // problems with a larger share of right answers than before
	Worse     int      `json:"worse"`
	SignP     float64  `json:"sign_test_p"` // of as uneven a count of better and worse, or a more uneven one, were both as likely
	Gained    []string `json:"gained"`      // problems without a right answer before, and with one after
	Lost      []string `json:"lost"`
	Differ    []string `json:"settings_differ,omitempty"`
}

// A Paired is pass@K of both sides over the problems that have K judged samples on both.
type Paired struct {
	K          int      `json:"k"`
	Before     Interval `json:"before"`
	After      Interval `json:"after"`
	Difference Interval `json:"difference"`
	P          float64  `json:"p"` // of as large a difference, or a larger one, were before and after the same policy
	Test       string   `json:"test"`
	Problems   int      `json:"problems"`
}

// Compare compares two results over the same problems. Other settings are an error, unless ignore is set: then they are listed. The seeds
// of draws may differ. The seed of the comparison's intervals and tests is that of before.
func Compare(before, after *Result, ignore bool) (*Comparison, error) {
	a, err := checked(before.Problems)
	if err != nil {
		return nil, fmt.Errorf("before: %w", err)
	}
	b, err := checked(after.Problems)
	if err != nil {
		return nil, fmt.Errorf("after: %w", err)
	}
	if before.Set != after.Set {
		return nil, fmt.Errorf("set is %s before and %s after, want one", before.Set, after.Set)
	}
	if err := sameProblems(a, b); err != nil {
		return nil, fmt.Errorf("set %s: %w", before.Set, err)
	}
	if before.Prompts != "" && after.Prompts != "" && before.Prompts != after.Prompts {
		return nil, fmt.Errorf("set %s: ids are the same, but not texts and labels (SHA-256 %.12s and %.12s)", before.Set, before.Prompts, after.Prompts)
	}
	c := &Comparison{Set: before.Set, Problems: len(a), Gained: []string{}, Lost: []string{}, Differ: differences(before, after)}
	c.Intervals = Method{Level: 0.95, Resamples: resamples, Seed: before.Intervals.Seed}
	if len(c.Differ) > 0 && !ignore {
		return nil, fmt.Errorf("set %s: settings differ: %s; --ignore settings compares all the same", c.Set, strings.Join(c.Differ, "; "))
	}
	c.sides(a, b)
	return c, c.scores(a, b, min(before.Samples, after.Samples))
}

// sides counts problems that changed.
func (c *Comparison) sides(a, b []Problem) {
	for i := range a {
		if a[i].N == 0 || b[i].N == 0 {
			continue
		}
		switch was, is := a[i].C*b[i].N, b[i].C*a[i].N; {
		case is > was:
			c.Better++
		case is < was:
			c.Worse++
		}
		if a[i].C == 0 && b[i].C > 0 {
			c.Gained = append(c.Gained, a[i].ID)
		}
		if a[i].C > 0 && b[i].C == 0 {
			c.Lost = append(c.Lost, a[i].ID)
		}
	}
	c.SignP = signTest(c.Better, c.Worse)
}

// scores compares pass@k for 1, 2, 4, ... up to n.
func (c *Comparison) scores(a, b []Problem, n int) error {
	for _, k := range Powers(n) {
		x, y := both(a, b, k)
		if len(x) == 0 {
			continue
		}
		p := Paired{K: k, Problems: len(x)}
		var err error
		if p.Before, err = PassAt(x, k, c.Intervals.Seed); err != nil {
			return err
		}
		if p.After, err = PassAt(y, k, c.Intervals.Seed); err != nil {
			return err
		}
		if p.Difference, err = Difference(x, y, k, c.Intervals.Seed); err != nil {
			return err
		}
		if p.P, p.Test, err = permutation(x, y, k, c.Intervals.Seed); err != nil {
			return err
		}
		c.Scores = append(c.Scores, p)
	}
	return nil
}

// both returns the problems, which are the same on both sides, that have k judged samples on both.
func both(a, b []Problem, k int) (x, y []Problem) {
	for i := range a {
		if a[i].N >= k && b[i].N >= k {
			x, y = append(x, a[i]), append(y, b[i])
		}
	}
	return x, y
}

// differences names the settings that differ. The seed of draws is none: it decides which samples came, not what they stand for.
func differences(before, after *Result) (all []string) {
	note := func(name string, a, b any) {
		if !reflect.DeepEqual(a, b) {
			all = append(all, fmt.Sprintf("%s is %v, was %v", name, b, a))
		}
	}
	note("samples_per_prompt", before.Samples, after.Samples)
	note("grader", before.Grader, after.Grader)
	a, b := reflect.ValueOf(before.Sampling), reflect.ValueOf(after.Sampling)
	for i := range a.NumField() {
		if name := reflect.TypeFor[rl.Sampling]().Field(i).Name; name != "Seed" {
			note(name, plain(a.Field(i)), plain(b.Field(i)))
		}
	}
	return all
}

// plain returns a value, nil for an empty list: a file doesn't tell the two apart.
func plain(v reflect.Value) any {
	if v.Kind() == reflect.Slice && v.Len() == 0 {
		return nil
	}
	return v.Interface()
}
