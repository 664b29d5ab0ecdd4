package reward

import (
	"fmt"
	"regexp"
	"strings"

	"furlong/reward/mathexpr"
	"furlong/reward/published"
	"furlong/rl"
)

// furlong judges by the last box or else the last Answer: line, as mathematical objects.
func furlong(r response, g Gold, rules Rules) finding {
	return compare(r, g, rules, false, inBox, onLine)
}

// gsm8k wants a label as GSM8K has them: a number, or the solution with the number behind ####.
func gsm8k(r response, g Gold, rules Rules) finding {
	if g.Alternatives == nil {
		if _, after, ok := strings.Cut(g.Text, "####"); ok {
			g.Text = after
		}
	}
	return compare(r, g, rules, true, inBox, onLine, onHashes)
}

// compare judges r by the last answer in one of the forms. A label that is empty, too long or not suited makes it invalid.
func compare(r response, g Gold, rules Rules, numeric bool, forms ...finder) finding {
	for _, text := range g.texts() {
		if err := suited(text, numeric); err != nil {
			return invalid("%v", err)
		}
	}
	a, none := answerOf(r, forms...)
	if none != "" {
		return wrong("%s", none)
	}
	if strings.TrimSpace(a.text) == "" {
		return wrong("%s is empty", a.where)
	}
	var first finding
	for i, text := range g.texts() {
		f := against(a, text, rules)
		if f.verdict == rl.Right {
			return f
		}
		if i == 0 {
			first = f
		}
		first.over = first.over || f.over
	}
	if n := len(g.texts()); n > 1 {
		first.why += fmt.Sprintf("; nor any of the other %d alternatives", n-1)
	}
	return first
}

// suited reports what is wrong with a label.
func suited(text string, numeric bool) error {
	switch {
	case len(text) > longestAnswer:
		return fmt.Errorf("label is %d bytes long, want at most %d", len(text), longestAnswer)
	case mathexpr.Tidy(text) == "":
		return fmt.Errorf("label is %q, want an answer", text)
	}
	if _, ok := mathexpr.IsLiteral(text); numeric && !ok {
		return fmt.Errorf("label is %.60q, want a number", text)
	}
	return nil
}

// against compares an answer with one label.
func against(a answer, label string, rules Rules) finding {
	res := mathexpr.Equal(unboxed(label), a.text, mathexpr.Rules{Unevaluated: rules.Unevaluated, Tolerance: rules.Tolerance})
	f := wrong("%s: %s", a.where, res.Why)
	if res.Equal {
		f = right("%s: %s", a.where, res.Why)
	}
	f.over = res.Over
	return f
}

// unboxed returns what stands in the last box of a label, or the label.
func unboxed(label string) string {
	if !strings.Contains(label, box) {
		return label
	}
	if inner, ok := lastBox(label); ok {
		return inner
	}
	return label
}

var (
	boxedInteger = regexp.MustCompile(`\\boxed\{([+-]?[0-9]+)\}`)
	integer      = regexp.MustCompile(`^[+-]?[0-9]+$`)
)

// arithmetic is the reward of the recipe tiny-arithmetic: the last complete \boxed{integer} and nothing else, wherever it
// stands and however the response ended.
func arithmetic(r response, g Gold, _ Rules) finding {
	label := g.Text
	if g.Alternatives != nil || !integer.MatchString(label) {
		return invalid("label is %.60q, want an integer", g.String())
	}
	all := boxedInteger.FindAllStringSubmatch(r.text, -1)
	if all == nil {
		return wrong(`no complete \boxed{integer}`)
	}
	got := all[len(all)-1][1]
	if canonical(got) != canonical(label) {
		return wrong("box %.60s, want %.60s", got, label)
	}
	return right("box %.60s", got)
}

// canonical returns the shortest spelling of an integer.
func canonical(s string) string {
	digits := strings.TrimLeft(strings.TrimLeft(s, "+-"), "0")
	switch {
	case digits == "":
		return "0"
	case s[0] == '-':
		return "-" + digits
	}
	return digits
}

// exact wants the label itself, blanks and end tokens around it aside; of a response with thoughts what comes after them.
func exact(r response, g Gold, _ Rules) finding {
	for _, label := range g.texts() {
		if strings.TrimSpace(label) == "" {
			return invalid("label is %q, want an answer", label)
		}
	}
	text, none := scope(r)
	if none != "" {
		return wrong("%s", none)
	}
	for _, label := range g.texts() {
		if text == strings.TrimSpace(label) {
			return right("response is the label")
		}
	}
	return wrong("response is %.60q, want %.60q", text, strings.TrimSpace(g.String()))
}

// The published graders.

func publishedMath(r response, g Gold, _ Rules) finding {
	v, pred := published.Math(r.text, published.Gold{Text: g.Text, Falsy: g.Falsy, Alternatives: g.Alternatives})
	return quote(v, pred, g)
}

func publishedDeepScaler(r response, g Gold, _ Rules) finding {
	v, pred := published.DeepScaler(r.text, published.Gold{Text: g.Text, Falsy: g.Falsy, Alternatives: g.Alternatives})
	return quote(v, pred, g)
}

func publishedDAPO(r response, g Gold, _ Rules) finding {
	if g.Alternatives != nil {
		return quote(published.Verdict{Raised: true}, "", g)
	}
	v, pred := published.DAPO(r.text, g.Text)
	return quote(v, pred, g)
}

func publishedMathVerify(r response, g Gold, _ Rules) finding {
	v, pred := published.MathVerify(r.text, published.Gold{Text: g.Text, Alternatives: g.Alternatives})
	return quote(v, pred, g)
}

// quote tells what a published grader says.
func quote(v published.Verdict, pred string, g Gold) finding {
	said, want := short(pred), short(g.String())
	if v.Right {
		return right("%s is %s by the published rules, %s", said, want, v.How)
	}
	f := wrong("%s is not %s by the published rules", said, want)
	switch {
	case v.Raised:
		f = wrong("the published grader breaks on the label %s, which counts as wrong", want)
	case v.Over:
		f = wrong("%s against %s would take too long to work out, which counts as wrong", said, want)
	case pred == "" || pred == "[INVALID]":
		f = wrong("no answer where the published rules look for one")
	}
	f.raised, f.over = v.Raised, v.Over
	return f
}

// short returns a text for people, on one line.
func short(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > 60 {
		return string(r[:57]) + "..."
	}
	return text
}
