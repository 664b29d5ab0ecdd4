package reward

import (
	"regexp"
	"strings"
)

// units are the words that may follow a number, with the name under which they are compared. Single letters count only
// within \text{}, where they cannot be variables.
var units = map[string]string{
	"degree": "degree", "degrees": "degree", "unit": "unit", "units": "unit", "point": "point", "points": "point",
	"mm": "mm", "cm": "cm", "centimeter": "cm", "centimeters": "cm", "m": "m", "meter": "m", "meters": "m",
	"km": "km", "kilometer": "km", "kilometers": "km", "mile": "mile", "miles": "mile", "mph": "mph",
	"inch": "inch", "inches": "inch", "in": "inch", "foot": "foot", "feet": "foot", "ft": "foot", "yard": "yard", "yards": "yard",
	"second": "second", "seconds": "second", "s": "second", "minute": "minute", "minutes": "minute", "min": "minute",
	"hour": "hour", "hours": "hour", "h": "hour", "day": "day", "days": "day", "week": "week", "weeks": "week",
	"month": "month", "months": "month", "year": "year", "years": "year",
	"g": "g", "gm": "g", "gram": "g", "grams": "g", "kg": "kg", "kilogram": "kg", "kilograms": "kg", "pound": "pound", "pounds": "pound",
	"cent": "cent", "cents": "cent", "dollar": "dollar", "dollars": "dollar", "digit": "digit", "digits": "digit",
}

// measure matches a unit: in \text{} or bare, of a square or a cube, with a power.
var measure = regexp.MustCompile(`^ *(\\text\{ *)?(square |sq\.? |cubic |)([A-Za-z]+)\.?( *\})?(?: *\^ *\{?([23])\}?)? *$`)

// unit returns the name of the unit that text is as a whole, "" for a blank text.
func unit(text string) (name string, ok bool) {
	if strings.TrimSpace(text) == "" {
		return "", true
	}
	m := measure.FindStringSubmatch(text)
	if m == nil || (m[1] == "") != (m[4] == "") || m[1] == "" && len(m[3]) == 1 {
		return "", false
	}
	if name, ok = units[strings.ToLower(m[3])]; !ok {
		return "", false
	}
	switch power := m[5]; {
	case power != "" && m[2] != "":
		return "", false
	case power == "3" || m[2] == "cubic ":
		return name + "^3", true
	case power == "2" || m[2] != "":
		return name + "^2", true
	}
	return name, true
}
