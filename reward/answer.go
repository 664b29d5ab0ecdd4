package reward

import (
	"fmt"
	"regexp"
	"strings"

	"furlong/reward/mathexpr"
)

// longestAnswer is the most bytes of an answer that are looked at.
const longestAnswer = 4096

// deepest is how many braces may be open at once in a response. A deeper one is no answer and no attempt at one: it cannot
// be judged.
const deepest = 1 << 15

// longestResponse is the most bytes of a response that is looked at. Every grader goes through that many well within its
// deadline, so that no clock decides; a longer one cannot be judged.
const longestResponse = 4 << 20

// longestLabel is the same for a label, its alternatives taken together.
const longestLabel = 1 << 20

// depth returns how many braces of text are open at once, at most.
func depth(text string) int {
	open, most := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '{':
			if open++; open > most {
				most = open
			}
		case '}':
			open = max(0, open-1)
		}
	}
	return most
}

// An answer is what a response claims, and where it does.
type answer struct {
	text  string
	where string // box, Answer: line, ####, <answer>
}

// A finder looks for one form of answer.
type finder struct {
	where string
	find  func(text string) (string, bool)
}

// The forms of answers.
var (
	inBox    = finder{"box", lastBox}
	onLine   = finder{"Answer: line", lastLine}
	onHashes = finder{"####", lastHashes}
	inTags   = finder{"<answer>", lastTags}
)

// answerOf returns the answer of a response in the first form that occurs in it, or in none the reason why there is none.
func answerOf(r response, forms ...finder) (a answer, none string) {
	text, none := scope(r)
	if none != "" {
		return answer{}, none
	}
	for _, f := range forms {
		found, ok := f.find(text)
		switch {
		case !ok:
			continue
		case len(found) > longestAnswer:
			return answer{}, fmt.Sprintf("answer is %d bytes long, want at most %d", len(found), longestAnswer)
		}
		return answer{found, f.where}, ""
	}
	if strings.Contains(text, box) {
		return answer{}, `no answer: the response ends without a closed \boxed{}`
	}
	return answer{}, `no answer: neither a closed \boxed{} nor an Answer: line`
}

// The marks of a thought.
const thinkBegin, thinkEnd = "<think>", "</think>"

// endMarks are the texts of end tokens that may be left at a response's end.
var endMarks = []string{"<｜end▁of▁sentence｜>", "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end|>", "</s>"}

// scope returns the part of a response that is graded: what comes after its thoughts. A thought that never ended leaves
// nothing; a response that was cut off without having ended one is taken to be still at it.
func scope(r response) (text, none string) {
	text = r.text
	switch i := strings.LastIndex(text, thinkEnd); {
	case i >= 0:
		text = text[i+len(thinkEnd):]
	case r.truncated:
		return "", "no answer: cut off by the token limit, no " + thinkEnd + " before"
	case strings.Contains(text, thinkBegin) || strings.HasSuffix(strings.TrimSpace(r.prompt), thinkBegin):
		return "", "no answer: the thought never ends with " + thinkEnd
	}
	return withoutEndMarks(text), ""
}

// withoutEndMarks returns text without blanks around it and end tokens behind it.
func withoutEndMarks(text string) string {
	for {
		n := len(text)
		text = strings.TrimSpace(text)
		for _, mark := range endMarks {
			text = strings.TrimSuffix(text, mark)
		}
		if len(text) == n {
			return text
		}
	}
}

// box is the command whose argument is an answer.
const box = `\boxed`

// lastBox returns what stands in the last \boxed{...} that is complete: its braces balance, escaped ones not counted. Of
// nested boxes it is the outermost complete one. Braces that never close do not matter to those within them.
func lastBox(text string) (string, bool) {
	var open []int // where the content of each open brace begins, -1 for a brace that is no box
	found, ok := "", false
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			if n := boxOpens(text[i:]); n > 0 {
				i += n - 1
				open = append(open, i+1)
			} else if !strings.HasPrefix(text[i+1:], box) {
				i++ // the next byte is escaped
			}
		case '{':
			open = append(open, -1)
		case '}':
			if len(open) == 0 {
				continue
			}
			if from := open[len(open)-1]; from >= 0 {
				found, ok = text[from:i], true
			}
			open = open[:len(open)-1]
		}
	}
	return found, ok
}

// boxOpens returns the length of \boxed{ at the beginning of text, blanks before the brace allowed, or 0.
func boxOpens(text string) int {
	rest, ok := strings.CutPrefix(text, box)
	if !ok {
		return 0
	}
	if rest = strings.TrimLeft(rest, " \t\n"); !strings.HasPrefix(rest, "{") {
		return 0
	}
	return len(text) - len(rest) + 1
}

// introduction matches what follows the word in what stands before an answer on its line; emphasis may surround the word
// and the colon.
var introduction = regexp.MustCompile(`^[*_ \t]*[:：]`)

// lastLine returns the rest of the last line with "Answer:", or the next line where nothing but blanks follows.
func lastLine(text string) (string, bool) {
	const name = "answer"
	for at := len(text) - len(name); at >= 0; at-- {
		if c := text[at]; c != 'a' && c != 'A' || !strings.EqualFold(text[at:at+len(name)], name) || at > 0 && isWord(text[at-1]) {
			continue
		}
		rest := text[at+len(name):]
		if m := introduction.FindString(rest[:min(len(rest), 100)]); m != "" {
			return firstLine(rest[len(m):]), true
		}
	}
	return "", false
}

// isWord reports whether c is a letter or a digit.
func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80
}

// beforeWords matches a number with words behind it in which no other number is.
var beforeWords = regexp.MustCompile(`^\s*(\$?-?\d+(?:,\d+)*(?:\.\d+)?)[,;:]?\s+\D*$`)

// lastHashes returns the rest of the last line with ####, which is how GSM8K writes answers, without the words that may follow
// the number there: 42 apples.
func lastHashes(text string) (string, bool) {
	i := strings.LastIndex(text, "####")
	if i < 0 {
		return "", false
	}
	line := firstLine(text[i+len("####"):])
	if m := beforeWords.FindStringSubmatch(line); m != nil {
		if _, whole := mathexpr.IsLiteral(line); !whole {
			return m[1], true
		}
	}
	return line, true
}

// lastTags returns what stands in the last <answer>...</answer>.
func lastTags(text string) (string, bool) {
	end := strings.LastIndex(text, "</answer>")
	if end < 0 {
		return "", false
	}
	begin := strings.LastIndex(text[:end], "<answer>")
	if begin < 0 {
		return "", false
	}
	return text[begin+len("<answer>") : end], true
}

// firstLine returns the first line of text that is not blank, without emphasis around it.
func firstLine(text string) string {
	text = strings.TrimLeft(text, "*_ \t\r\n")
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimRight(line, "*_ \t\r")
}
