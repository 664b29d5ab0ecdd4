package mathexpr

import (
	"math/big"
	"strings"
)

// unitNames lists the units: the name under which they are compared, then the other spellings. A single letter counts only
// within \text{}, where it cannot be a variable.
const unitNames = `
degree degrees deg
radian radians rad
unit units
point points
mm millimeter millimeters millimetre millimetres
cm centimeter centimeters centimetre centimetres cms
dm decimeter decimeters
m meter meters metre metres
km kilometer kilometers kilometre kilometres kms
mile miles mi
inch inches in
foot feet ft
yard yards yd yds
mph
kph kmph kmh
second seconds s sec secs
minute minutes min mins
hour hours h hr hrs
day days
week weeks
month months
year years yr yrs
g gm gms gram grams
mg milligram milligrams
kg kilogram kilograms kgs
pound pounds lb lbs
ounce ounces oz
ton tons tonne tonnes
l liter liters litre litres
ml milliliter milliliters millilitre millilitres
gallon gallons gal
quart quarts
pint pints
acre acres
hectare hectares
dollar dollars usd $
cent cents ¢
euro euros € eur
£ gbp
¥ yen
₹ rupee rupees rs
digit digits
way ways
integer integers
meal meals
edge edges
student students
multiple multiples
n newton newtons
j joule joules
w watt watts
v volt volts
a ampere amperes amp amps
hz hertz
ohm ohms
k kelvin
mol moles
pa pascal pascals
`

// unitOf maps spellings to names, scales words to powers of ten.
var (
	unitOf = readUnits()
	scales = map[string]int{"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12, "millions": 6, "billions": 9, "thousands": 3}
	powers = map[string]int{"square": 2, "sq": 2, "cubic": 3, "cu": 3, "squared": 2, "cubed": 3}
)

func readUnits() map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(unitNames) {
		spellings := strings.Fields(line)
		for _, s := range spellings {
			m[s] = spellings[0]
		}
	}
	return m
}

// isUnitWord reports whether a word in lower case belongs to a unit or a scale. Single letters do not.
func isUnitWord(low string) bool {
	return unitOf[low] != "" || scales[low] != 0 || powers[low] != 0 || low == "per" || low == "percent" || low == "pct" || low == "percentage"
}

// A measure is what text behind a value says.
type measure struct {
	unit    string
	scale   int
	percent bool
	clock   string // am, pm
}

// readMeasure reads text that is as a whole a scale, a unit of the list, a percentage or am and pm.
func readMeasure(text string) (m measure, ok bool) {
	words := strings.Fields(strings.ToLower(strings.NewReplacer(".", " ", "/", " / ", "^", " ^ ", "{", " ", "}", " ", "-", " ", `\ `, " ", "~", " ", "²", " ^ 2", "³", " ^ 3").Replace(text)))
	if len(words) > 0 && scales[words[0]] != 0 {
		m.scale, words = scales[words[0]], words[1:]
	}
	if len(words) > 1 && words[0] == "of" {
		words = words[1:]
	}
	switch joined := strings.Join(words, " "); joined {
	case "":
		return m, m.scale != 0
	case "percent", "pct", "percentage", "per cent":
		m.percent = true
		return m, true
	case "am", "a m", "pm", "p m":
		m.clock = joined[:1]
		return m, m.scale == 0
	case "us dollars":
		words = words[1:]
	}
	m.unit, ok = unitPhrase(words)
	return m, ok
}

// unitPhrase returns the name of a unit: one with a power, or one over another.
func unitPhrase(words []string) (string, bool) {
	for i, w := range words {
		if w != "/" && w != "per" {
			continue
		}
		top, ok := poweredUnit(words[:i])
		bottom, fine := poweredUnit(words[i+1:])
		name := top + "/" + bottom
		switch name {
		case "mile/hour":
			name = "mph"
		case "km/hour":
			name = "kph"
		}
		return name, ok && fine
	}
	return poweredUnit(words)
}

// poweredUnit returns the name of a unit with its power.
func poweredUnit(words []string) (string, bool) {
	power := 1
	name := ""
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case powers[w] != 0 && power == 1:
			power = powers[w]
		case unitOf[w] != "" && name == "":
			name = unitOf[w]
		case w == "^" && i+1 < len(words) && (words[i+1] == "2" || words[i+1] == "3") && power == 1 && name != "":
			power = int(words[i+1][0] - '0')
			i++
		default:
			return "", false
		}
	}
	if name == "" {
		return "", false
	}
	return raise(name, power), true
}

// raise returns the name of a power of a unit.
func raise(name string, power int) string {
	switch power {
	case 2:
		return name + "^2"
	case 3:
		return name + "^3"
	}
	return name
}

// tenTo returns 10^n.
func tenTo(n int) *big.Rat {
	return new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil))
}
