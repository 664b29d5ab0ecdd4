package reward

import (
	"regexp"
	"strings"
)

// mathematics judges by a label that is a number or else any text.
func mathematics(r response, label string) finding {
	return compare(r, label, func(gold) bool { return true }, "", inBox, onLine)
}

// dapo wants a label as DAPO-Math-17K has them: a whole number.
func dapo(r response, label string) finding {
	whole := func(g gold) bool { return g.numeric && g.value.IsInt() && !g.percent && g.unit == "" }
	return compare(r, label, whole, "a whole number", inBox, onLine)
}

// gsm8k wants a label as GSM8K has them: a number, or the solution with the number behind ####.
func gsm8k(r response, label string) finding {
	if _, after, ok := strings.Cut(label, "####"); ok {
		label = after
	}
	return compare(r, label, func(g gold) bool { return g.numeric }, "a number", inBox, onLine, onHashes)
}

// A gold is a label, read.
type gold struct {
	number
	numeric bool
	text    string // tidy
}

// compare judges r by the last answer in one of the forms. A label that is empty or not suited makes it invalid.
func compare(r response, label string, suited func(gold) bool, want string, forms ...finder) finding {
	if len(label) > longestAnswer {
		return invalid("label is %d bytes long, want at most %d", len(label), longestAnswer)
	}
	g := gold{text: tidy(label)}
	g.number, g.numeric = parseNumber(g.text)
	switch {
	case g.text == "":
		return invalid("label is %q, want an answer", label)
	case !suited(g):
		return invalid("label is %.60q, want %s", label, want)
	}
	a, none := answerOf(r, forms...)
	if none != "" {
		return wrong("%s", none)
	}
	return g.judge(a)
}

// judge compares as numbers where the label is one, else as text.
func (g gold) judge(a answer) finding {
	text := tidy(a.text)
	if !g.numeric {
		if asText(text) == asText(g.text) && text != "" {
			return right("%s %.60q is %.60q as text", a.where, a.text, g.text)
		}
		return wrong("%s %.60q, want %.60q as text", a.where, a.text, g.text)
	}
	n, ok := parseNumber(text)
	switch {
	case !ok:
		return wrong("%s %.60q is no number, want %.60s", a.where, a.text, g.text)
	case n.equals(g.number):
		return right("%s %.60q is %.60s", a.where, a.text, g.text)
	}
	return wrong("%s %.60q, want %.60s", a.where, a.text, g.text)
}

var (
	boxedInteger = regexp.MustCompile(`\\boxed\{([+-]?[0-9]+)\}`)
	integer      = regexp.MustCompile(`^[+-]?[0-9]+$`)
)

// arithmetic is the reward of the recipe tiny-arithmetic: the last complete \boxed{integer} and nothing else, wherever it
// stands and however the response ended.
func arithmetic(r response, label string) finding {
	if !integer.MatchString(label) {
		return invalid("label is %.60q, want an integer", label)
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
func exact(r response, label string) finding {
	if strings.TrimSpace(label) == "" {
		return invalid("label is %q, want an answer", label)
	}
	text, none := scope(r)
	switch {
	case none != "":
		return wrong("%s", none)
	case text == strings.TrimSpace(label):
		return right("response is the label")
	}
	return wrong("response is %.60q, want %.60q", text, strings.TrimSpace(label))
}
