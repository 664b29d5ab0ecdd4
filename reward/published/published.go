package published

import (
	"math"
	"strings"
)

// A Verdict is what a published grader says.
type Verdict struct {
	Right  bool
	Raised bool   // the published grader raises an exception here, which counts as wrong
	Over   bool   // a comparison that was too large to be worked out, which counts as wrong
	How    string // of a right one: what it rests on
}

func roundEven(x float64) float64 { return math.RoundToEven(x) }

// A Gold is a gold answer as a data set has it.
type Gold struct {
	Text         string
	Falsy        bool     // a number 0, or nothing: what Python takes for false
	Alternatives []string // not nil for a list
}

// Math judges the last \boxed{} anywhere in a response, as DeepScaleR's grader does.
func Math(response string, gold Gold) (v Verdict, pred string) {
	pred, found := extract(response)
	text := gold.Text
	if gold.Alternatives != nil {
		text = quoted(gold.Alternatives)
	}
	if gold.Falsy || text == "" || !found {
		return Verdict{}, pred
	}
	if strings.Contains(text, boxed) {
		if text, found = extract(text); !found {
			return Verdict{}, pred
		}
	}
	return same(pred, text), pred
}

// same applies both tests.
func same(answer, gold string) Verdict {
	if sameString(answer, gold) {
		return Verdict{Right: true, How: "text against text"}
	}
	return sameSymbolic(answer, gold)
}

// The marks behind which the answer stands.
const thinkEnd, responseMark = "</think>", "###Response"

// DeepScaler judges as [Math] does, but only what follows the thoughts of a response: the last </think>, or where there is
// none the first ###Response. A response without either is wrong. Any alternative of a gold answer will do.
func DeepScaler(response string, gold Gold) (v Verdict, pred string) {
	if i := strings.LastIndex(response, thinkEnd); i >= 0 {
		response = response[i+len(thinkEnd):]
	} else if parts := strings.Split(response, responseMark); len(parts) > 1 {
		response = parts[1]
	} else {
		return Verdict{}, ""
	}
	golds := gold.Alternatives
	if golds == nil {
		golds = []string{gold.Text}
	}
	pred, found := extract(response)
	if !found {
		return Verdict{}, pred
	}
	for _, text := range golds {
		if strings.Contains(text, boxed) {
			if text, found = extract(text); !found {
				continue
			}
		}
		if text == "" {
			continue
		}
		w := same(pred, text)
		v.Raised, v.Over = v.Raised || w.Raised, v.Over || w.Over
		if w.Right {
			return w, pred
		}
	}
	return v, pred
}
