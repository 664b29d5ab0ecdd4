package published

import "strings"

const boxed = `\boxed`

// extract returns what stands in the last \boxed{...} of a text: braces are counted from the last \boxed on, escaped ones
// too. A box that is not closed, or that has something between the command and its brace, is none.
func extract(text string) (string, bool) {
	from := strings.LastIndex(text, boxed)
	if from < 0 {
		return "", false
	}
	open := 0
	for i := from; i < len(text); i++ {
		switch text[i] {
		case '{':
			open++
		case '}':
			if open--; open == 0 {
				return strings.CutPrefix(text[from:i], boxed+"{")
			}
		}
	}
	return "", false
}
