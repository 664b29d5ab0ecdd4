package data

import (
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// A part is one file of a mix, or the only one.
type part struct {
	name   string
	path   string
	rows   span
	weight float64 // 0 where none is given
	named  bool
}

// A span is a range of rows.
type span struct{ from, to int }

// everything is the span of a file without a slice.
var everything = span{0, int(^uint(0) >> 1)}

var (
	// named matches the beginning of NAME=FILE. A path with = in its first folder is written with ./ before it.
	named = regexp.MustCompile(`^([A-Za-z0-9_.-]+)=`)
	// next matches where another NAME=FILE begins.
	next = regexp.MustCompile(`,[A-Za-z0-9_.-]+=`)
	// weighed matches the end of FILE:WEIGHT.
	weighed = regexp.MustCompile(`^(.*):([0-9.eE+-]+)$`)
	// sliced matches the end of FILE@[a:b]; either number may be missing.
	sliced = regexp.MustCompile(`^(.*)@\[([^:\]]*):([^:\]]*)\]$`)
)

// parts takes --prompt-data apart.
func (c Config) parts() ([]part, error) {
	var parts []part
	weights := 0
	names := map[string]bool{}
	for _, text := range cutMix(c.File) {
		p, err := parsePart(text)
		if err != nil {
			return nil, fmt.Errorf("--prompt-data is %q: %w", c.File, err)
		}
		if names[p.name] {
			return nil, fmt.Errorf("--prompt-data is %q: two files are called %s, want a name for each", c.File, p.name)
		}
		names[p.name] = true
		if p.weight > 0 {
			weights++
		}
		parts = append(parts, p)
	}
	if weights != 0 && weights != len(parts) {
		return nil, fmt.Errorf("--prompt-data is %q: %d of %d files have a weight, want all or none", c.File, weights, len(parts))
	}
	return parts, nil
}

// cutMix cuts NAME=FILE,NAME=FILE at the commas before names. What does not begin with a name is one file.
func cutMix(text string) []string {
	if !named.MatchString(text) {
		return []string{text}
	}
	var out []string
	from := 0
	for _, at := range next.FindAllStringIndex(text, -1) {
		out = append(out, text[from:at[0]])
		from = at[0] + 1
	}
	return append(out, text[from:])
}

// parsePart takes FILE, FILE@[a:b] or NAME=FILE@[a:b]:WEIGHT apart. A file without a name has no weight, so that colons
// in its path mean nothing.
func parsePart(text string) (p part, err error) {
	if m := named.FindString(text); m != "" {
		p.named, p.name, text = true, strings.TrimSuffix(m, "="), text[len(m):]
		if m := weighed.FindStringSubmatch(text); m != nil {
			text = m[1]
			if p.weight, err = strconv.ParseFloat(m[2], 64); err != nil || !(p.weight > 0) || math.IsInf(p.weight, 0) {
				return part{}, fmt.Errorf("weight is %q, want a number above 0", m[2])
			}
		}
		if text == "" {
			return part{}, fmt.Errorf("%s has no file, want NAME=FILE", p.name)
		}
	}
	if p.path, p.rows, err = parseSlice(text); err != nil {
		return part{}, err
	}
	if !p.named {
		base := filepath.Base(p.path)
		p.name = strings.TrimSuffix(base, filepath.Ext(base))
	}
	return p, nil
}

// parseSlice takes FILE@[a:b] apart.
func parseSlice(file string) (path string, rows span, err error) {
	m := sliced.FindStringSubmatch(file)
	if m == nil {
		if strings.Contains(file, "@[") {
			return "", span{}, fmt.Errorf("slice of %q is not closed, want FILE or FILE@[a:b]", file)
		}
		return file, everything, nil
	}
	rows = everything
	for _, end := range []struct {
		text string
		n    *int
	}{{m[2], &rows.from}, {m[3], &rows.to}} {
		if end.text == "" {
			continue
		}
		if *end.n, err = strconv.Atoi(end.text); err != nil || *end.n < 0 {
			return "", span{}, fmt.Errorf("row is %q, want a number from 0", end.text)
		}
	}
	if rows.from >= rows.to {
		return "", span{}, fmt.Errorf("first row is %d, want less than %d", rows.from, rows.to)
	}
	return m[1], rows, nil
}
