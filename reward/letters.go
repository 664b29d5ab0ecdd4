package reward

import (
	"encoding/json"
	"regexp"
	"strings"

	"furlong/rl"
)

// usualLetters are those of a choice whose metadata does not say.
const usualLetters = "ABCD"

// choices are the ways in which a response names a letter, the surest first. In each the last one counts. A letter that merely stands in the text
// is none: A is an article, and I a pronoun.
var choices = []*regexp.Regexp{
	regexp.MustCompile(`\\boxed\{\s*(?:\\(?:text|textbf|mathrm|mathbf)\{)?\s*\(?([A-Za-z])\)?\s*\}`),
	regexp.MustCompile(`(?i:\banswer\b)[\s*_]*(?i:is\b|:|=)?[\s*_:]*(?i:(?:option|choice)\s+)?[(\[*_]*([A-Z])(?:[)\]*_.,;:\s]|$)`),
	regexp.MustCompile(`(?i:\b(?:option|choice)\b)[\s*_:]*[(\[*_]*([A-Z])(?:[)\]*_.,;:\s]|$)`),
	regexp.MustCompile(`(?m)^[\s(\[*_]*([A-Z])[\s)\]*_.]*$`),
	regexp.MustCompile(`\(([A-Z])\)`),
}

// gpqa wants the letter of the label.
func gpqa(r response, g Gold, _ Rules) finding {
	valid := g.Letters
	if valid == "" {
		valid = usualLetters
	}
	want := strings.ToUpper(strings.Trim(g.Text, " \t\r\n()[]."))
	if g.Alternatives != nil || len(want) != 1 || !strings.Contains(valid, want) {
		return invalid("label is %.60q, want one of the letters %s", g.String(), valid)
	}
	text, none := scope(r)
	if none != "" {
		return wrong("%s", none)
	}
	got := lastLetter(text, valid)
	switch got {
	case "":
		return wrong("names none of the letters %s", valid)
	case want:
		return right("letter %s", got)
	}
	return wrong("letter %s, want %s", got, want)
}

// lastLetter returns the valid letter that a text names, "" for none.
func lastLetter(text, valid string) string {
	for _, c := range choices {
		all := c.FindAllStringSubmatch(text, -1)
		for i := len(all) - 1; i >= 0; i-- {
			if l := strings.ToUpper(all[i][1]); strings.Contains(valid, l) {
				return l
			}
		}
	}
	return ""
}

// lettersOf returns the letters that a prompt's metadata allows, as valid_letters: a text, or a list; "" where it does not say.
func lettersOf(p *rl.Prompt) string {
	if !strings.Contains(string(p.Metadata), `"valid_letters"`) {
		return ""
	}
	var text struct {
		Letters string `json:"valid_letters"`
	}
	if json.Unmarshal(p.Metadata, &text) == nil {
		return strings.ToUpper(text.Letters)
	}
	var list struct {
		Letters []string `json:"valid_letters"`
	}
	if json.Unmarshal(p.Metadata, &list) != nil {
		return ""
	}
	return strings.ToUpper(strings.Join(list.Letters, ""))
}
