package tokenizer

import "unicode/utf8"

// A splitter cuts text into the words within which tokens are merged.
//
// DeepSeek's rule is three regular expressions, each applied to what the ones before left between their matches, then
// bytes. As one pass: up to three numbers are a word; a run of Chinese or Japanese characters is a word; what lies
// between, a stretch, is cut by the first of
//
//	[!-/:-~][A-Za-z]+        ASCII punctuation and the ASCII letters after it (the class is all of that punctuation)
//	[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+    letters and marks, with one character before that is none of these
//	 ?[\p{P}\p{S}]+[\r\n]*   punctuation with one blank before and line ends after
//	\s*[\r\n]+               white space up to its last line end
//	\s+(?!\S)                white space without its last character, which goes with the word after it
//	\s+                      or with it, when it is alone
//
// and characters that nothing matches are a word together. A stretch ends like a text: white space before a number or
// a Chinese character stays whole.
type splitter struct {
	classes *[utf8.MaxRune + 1]class
}

// end returns where the word that begins at text[i] ends. The text is valid UTF-8 and i is less than its length.
func (s splitter) end(text string, i int) int {
	c, size := s.at(text, i)
	switch c {
	case number:
		return s.numbers(text, i+size)
	case eastern:
		return s.run(text, i+size, 1<<eastern)
	case letter, mark:
		return s.run(text, i+size, 1<<letter|1<<mark)
	case punct:
		if end := asciiWord(text, i); end > 0 {
			return end
		}
		return s.puncts(text, i+size)
	case space, line:
		return s.blanks(text, i, c, size)
	}
	return s.others(text, i, size)
}

// at returns the class and the length of the character at text[i].
func (s splitter) at(text string, i int) (class, int) {
	if b := text[i]; b < utf8.RuneSelf {
		return s.classes[b], 1
	}
	r, size := utf8.DecodeRuneInString(text[i:])
	return s.classes[r], size
}

// is tells whether a character of one of the classes in set stands at text[i].
func (s splitter) is(text string, i int, set uint) bool {
	if i >= len(text) {
		return false
	}
	c, _ := s.at(text, i)
	return set>>c&1 != 0
}

// run returns the end of the characters from i on whose class is in set.
func (s splitter) run(text string, i int, set uint) int {
	for i < len(text) {
		c, size := s.at(text, i)
		if set>>c&1 == 0 {
			return i
		}
		i += size
	}
	return i
}

// numbers ends a word of at most three numbers, the first of which ends at i.
func (s splitter) numbers(text string, i int) int {
	for range 2 {
		if !s.is(text, i, 1<<number) {
			break
		}
		_, size := s.at(text, i)
		i += size
	}
	return i
}

// puncts ends a word of punctuation that has reached i.
func (s splitter) puncts(text string, i int) int {
	return s.run(text, s.run(text, i, 1<<punct), 1<<line)
}

// blanks ends a word that begins with white space of the class c.
func (s splitter) blanks(text string, i int, c class, size int) int {
	next := i + size
	if c == space && s.is(text, next, 1<<letter|1<<mark) {
		return s.run(text, next, 1<<letter|1<<mark)
	}
	if text[i] == ' ' && s.is(text, next, 1<<punct) {
		return s.puncts(text, next)
	}
	return s.whitespace(text, i)
}

// whitespace ends a word that is nothing but white space.
func (s splitter) whitespace(text string, i int) int {
	j, lastLine, last := i, 0, i // behind the run's last line end; where its last character begins
	for j < len(text) {
		c, size := s.at(text, j)
		if c != space && c != line {
			break
		}
		last, j = j, j+size
		if c == line {
			lastLine = j
		}
	}
	switch {
	case lastLine > 0:
		return lastLine
	case last > i && s.is(text, j, 1<<other|1<<letter|1<<mark|1<<punct):
		return last
	}
	return j
}

// others ends a word that begins with a character of no class: it takes letters after it, or else what is like it.
func (s splitter) others(text string, i, size int) int {
	next := i + size
	if s.is(text, next, 1<<letter|1<<mark) {
		return s.run(text, next, 1<<letter|1<<mark)
	}
	for s.is(text, next, 1<<other) {
		_, size := s.at(text, next)
		if s.is(text, next+size, 1<<letter|1<<mark) {
			break
		}
		next += size
	}
	return next
}

// asciiWord returns the end of ASCII punctuation and the ASCII letters after it, 0 if there is no such thing at i.
func asciiWord(text string, i int) int {
	j := i + 1
	for j < len(text) && isASCIILetter(text[j]) {
		j++
	}
	if text[i] >= utf8.RuneSelf || j == i+1 {
		return 0
	}
	return j
}

func isASCIILetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }
