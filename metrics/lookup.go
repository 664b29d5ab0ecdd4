package metrics

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Lookup returns the series that name belongs to: the one of that very name, else the pattern with the most letters of its own.
func Lookup(name string) (Series, bool) {
	x := index()
	if s, ok := x.exact[name]; ok {
		return s, true
	}
	for _, p := range x.patterns {
		if p.re.MatchString(name) {
			return p.series, true
		}
	}
	return Series{}, false
}

type pattern struct {
	re     *regexp.Regexp
	fixed  int // letters outside of braces
	series Series
}

type lookup struct {
	exact    map[string]Series
	patterns []pattern // most fixed letters first
}

var index = sync.OnceValue(func() lookup {
	x := lookup{exact: map[string]Series{}}
	for _, s := range table {
		if !strings.Contains(s.Name, "{") {
			x.exact[s.Name] = s
			continue
		}
		re, fixed := compile(s.Name)
		x.patterns = append(x.patterns, pattern{re, fixed, s})
	}
	slices.SortStableFunc(x.patterns, func(a, b pattern) int { return b.fixed - a.fixed })
	return x
})

var braces = regexp.MustCompile(`\{[a-z]+\}`)

// compile turns eval/{name}-pass@{k} into a regular expression for whole names.
func compile(name string) (re *regexp.Regexp, fixed int) {
	var b strings.Builder
	b.WriteString("^")
	end := 0
	for _, m := range braces.FindAllStringIndex(name, -1) {
		b.WriteString(regexp.QuoteMeta(name[end:m[0]]))
		fixed += m[0] - end
		switch name[m[0]:m[1]] {
		case "{k}", "{i}", "{layer}":
			b.WriteString(`[0-9]+`)
		default:
			b.WriteString(`[A-Za-z0-9_.-]+`)
		}
		end = m[1]
	}
	b.WriteString(regexp.QuoteMeta(name[end:]) + "$")
	return regexp.MustCompile(b.String()), fixed + len(name) - end
}

// trim takes prefix and suffix away, or returns "" where they are not.
func trim(s, prefix, suffix string) string {
	s, ok := strings.CutPrefix(s, prefix)
	t, ok2 := strings.CutSuffix(s, suffix)
	if !ok || !ok2 {
		return ""
	}
	return t
}
