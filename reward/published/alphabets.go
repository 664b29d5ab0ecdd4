package published

import "strings"

// An alphabet is where Unicode has the letters of a mathematical font, with those that it has elsewhere.
type alphabet struct {
	capital, small rune
	elsewhere      map[rune]rune
}

var script = alphabet{0x1d49c, 0x1d4b6, map[rune]rune{'B': 'ℬ', 'E': 'ℰ', 'F': 'ℱ', 'H': 'ℋ', 'I': 'ℐ', 'L': 'ℒ', 'M': 'ℳ', 'R': 'ℛ', 'e': 'ℯ', 'g': 'ℊ', 'o': 'ℴ'}}

// alphabets are the commands whose argument becomes letters of another font. \mathrm, \text and \boldsymbol change none.
var alphabets = map[string]alphabet{
	"mathbf":   {0x1d400, 0x1d41a, nil},
	"mathit":   {0x1d434, 0x1d44e, map[rune]rune{'h': 'ℎ'}},
	"mathsf":   {0x1d5a0, 0x1d5ba, nil},
	"mathtt":   {0x1d670, 0x1d68a, nil},
	"mathcal":  script,
	"mathscr":  script,
	"mathfrak": {0x1d504, 0x1d51e, map[rune]rune{'C': 'ℭ', 'H': 'ℌ', 'I': 'ℑ', 'R': 'ℜ', 'Z': 'ℨ'}},
	"mathbb":   {0x1d538, 0x1d552, map[rune]rune{'C': 'ℂ', 'H': 'ℍ', 'N': 'ℕ', 'P': 'ℙ', 'Q': 'ℚ', 'R': 'ℝ', 'Z': 'ℤ'}},
}

// write returns text in the letters of the alphabet; what is no letter stays.
func (a alphabet) write(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case a.elsewhere[r] != 0:
			return a.elsewhere[r]
		case r >= 'A' && r <= 'Z':
			return a.capital + r - 'A'
		case r >= 'a' && r <= 'z':
			return a.small + r - 'a'
		}
		return r
	}, text)
}
