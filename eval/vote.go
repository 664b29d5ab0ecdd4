package eval

import (
	"cmp"
	"strings"

	"furlong/reward/mathexpr"
)

// A Vote is an answer and how many judged samples of a problem gave it. Right answers equal the label, and so each other, however they
// are spelled: they are one Vote, under the spelling that came first. Wrong ones are told apart by their text.
type Vote struct {
	Answer string `json:"answer"`
	Count  int    `json:"count"`
	Right  bool   `json:"right,omitempty"`
}

// before orders votes: the most frequent first.
func before(a, b Vote) int {
	return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Answer, b.Answer))
}

// vote counts a judged sample's answer. "" is none, unless it is right: then the grader has seen one.
func (p *Problem) vote(answer string, right bool) {
	if answer == "" && !right {
		p.Silent++
		return
	}
	for i, v := range p.Votes {
		if v.Right && right || !v.Right && !right && v.Answer == answer {
			p.Votes[i].Count++
			return
		}
	}
	p.Votes = append(p.Votes, Vote{Answer: answer, Count: 1, Right: right})
}

// voted reports whether the answers of all judged samples are known.
func (p Problem) voted() bool {
	n := p.Silent
	for _, v := range p.Votes {
		n += v.Count
	}
	return n == p.N
}

// tally returns how many samples gave the right answer, each of the wrong ones, and none.
func (p Problem) tally() (right int, wrong []int, silent int) {
	for _, v := range p.Votes {
		if v.Right {
			right += v.Count
		} else {
			wrong = append(wrong, v.Count)
		}
	}
	return right, wrong, p.Silent
}

// claimed returns what a response claims, for the count of wrong answers: what stands in its last box, else behind its last "Answer:" or
// ####, after its thoughts if they ended. "" is no answer.
func claimed(text string) string {
	if _, after, ok := cutLast(text, "</think>"); ok {
		text = after
	}
	if box, ok := lastBox(text); ok {
		return mathexpr.Tidy(box)
	}
	for _, mark := range []string{"Answer:", "####"} {
		if _, after, ok := cutLast(text, mark); ok {
			line, _, _ := strings.Cut(strings.TrimSpace(after), "\n")
			return mathexpr.Tidy(line)
		}
	}
	return ""
}

// cutLast is strings.Cut around the last sep.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// lastBox returns the content of the last \boxed{...} whose braces balance. It looks at the last few boxes only: a response of open ones
// would take long.
func lastBox(text string) (string, bool) {
	const mark, few = `\boxed{`, 8
	for range few {
		at := strings.LastIndex(text, mark)
		if at < 0 {
			break
		}
		if inner, ok := balanced(text[at+len(mark):]); ok {
			return inner, true
		}
		text = text[:at]
	}
	return "", false
}

// balanced returns what stands before the brace that closes one open before text.
func balanced(text string) (string, bool) {
	open := 1
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++ // the next byte is escaped
		case '{':
			open++
		case '}':
			if open--; open == 0 {
				return text[:i], true
			}
		}
	}
	return "", false
}
