package tokenizer

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// A class is what pre-tokenisation asks of a character.
type class uint8

const (
	other   class = iota // controls, private and unassigned characters
	letter               // category L, outside of the scripts below
	mark                 // M
	number               // N
	punct                // P and S
	space                // White_Space, except the two line ends
	line                 // \r and \n
	eastern              // the ranges of Chinese and Japanese that are words of their own
)

// easternRanges are the last two code points of every range that DeepSeek names; they hold letters, marks and punctuation.
var easternRanges = [][2]rune{{0x4e00, 0x9fa5}, {0x3040, 0x309f}, {0x30a0, 0x30ff}}

// classText pins the classes to one version of Unicode: another version would split some texts otherwise, so the
// tables of the standard library, which move with it, can't be used.
//
//go:embed classes.txt
var classText string

// classes holds the class of every code point.
var classes = sync.OnceValue(func() *[utf8.MaxRune + 1]class {
	var table [utf8.MaxRune + 1]class
	if err := parseClasses(classText, &table); err != nil {
		panic(err) // the file is part of the program
	}
	for _, r := range easternRanges {
		fill(&table, r[0], r[1], eastern)
	}
	table['\r'], table['\n'] = line, line
	return &table
})

func fill(table *[utf8.MaxRune + 1]class, lo, hi rune, c class) {
	for r := lo; r <= hi; r++ {
		table[r] = c
	}
}

// parseClasses reads lines of ranges, each under the letter of its class. What follows # is comment.
func parseClasses(text string, table *[utf8.MaxRune + 1]class) error {
	letters := map[string]class{"L": letter, "M": mark, "N": number, "P": punct, "Z": space}
	current := other
	for row := range strings.Lines(text) {
		row, _, _ = strings.Cut(row, "#")
		for _, word := range strings.Fields(row) {
			if c, ok := letters[word]; ok {
				current = c
				continue
			}
			lo, hi, err := parseRange(word)
			if err != nil {
				return fmt.Errorf("classes: range is %q: %w", word, err)
			}
			fill(table, lo, hi, current)
		}
	}
	return nil
}

func parseRange(word string) (lo, hi rune, err error) {
	first, last, isRange := strings.Cut(word, "-")
	if !isRange {
		last = first
	}
	a, err := strconv.ParseUint(first, 16, 32)
	if err != nil {
		return 0, 0, err
	}
	b, err := strconv.ParseUint(last, 16, 32)
	if err == nil && (a > b || b > utf8.MaxRune) {
		err = fmt.Errorf("want a range up to %x", utf8.MaxRune)
	}
	return rune(a), rune(b), err
}
