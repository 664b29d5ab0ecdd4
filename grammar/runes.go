package grammar

import (
	"slices"
	"unicode/utf8"
)

// runes is one character of the set, in UTF-8. A set is given as pairs of first and last, ascending. Surrogates have no UTF-8 and are left out.
func runes(set []rune) piece {
	var all [][]span
	for i := 0; i < len(set); i += 2 {
		all = encoded(all, set[i], set[i+1])
	}
	return func(d *draft, from, to int32) { readAll(d, from, to, all, map[string]int32{}) }
}

// lasts are the last characters of 1 to 4 bytes; surrogates lie between two more.
var lasts = []rune{0x7f, 0x7ff, 0xd7ff, 0xdfff, 0xffff, utf8.MaxRune}

// encoded appends the encodings of the characters from lo to hi: each is a sequence of spans of bytes, and all their combinations count.
func encoded(all [][]span, lo, hi rune) [][]span {
	for _, last := range lasts {
		if part := min(hi, last); lo <= part {
			if part < 0xd800 || part > 0xdfff {
				all = sameLength(all, lo, part)
			}
			lo = part + 1
		}
	}
	return all
}

// sameLength does it for characters that take equally many bytes: it splits until the bytes after the first that differs run over all they can.
func sameLength(all [][]span, lo, hi rune) [][]span {
	for shift := 6; shift <= 18; shift += 6 {
		low := rune(1)<<shift - 1
		if lo&^low == hi&^low || utf8.RuneLen(lo)*6 <= shift {
			break
		}
		if lo&low != 0 {
			return sameLength(sameLength(all, lo, lo|low), (lo|low)+1, hi)
		}
		if hi&low != low {
			return sameLength(sameLength(all, lo, hi&^low-1), hi&^low, hi)
		}
	}
	var a, b [utf8.UTFMax]byte
	n := utf8.EncodeRune(a[:], lo)
	utf8.EncodeRune(b[:], hi)
	one := make([]span, n)
	for i := range one {
		one[i] = span{lo: a[i], hi: b[i]}
	}
	return append(all, one)
}

// readAll adds sequences of spans as a tree in which equal branches are one: known are the nodes from which given sequences lead to to.
func readAll(d *draft, from, to int32, all [][]span, known map[string]int32) {
	for len(all) > 0 {
		first, n := all[0][0], 1
		for n < len(all) && all[n][0] == first {
			n++
		}
		d.read(from, first.lo, first.hi, branch(d, to, all[:n], known))
		all = all[n:]
	}
}

// branch returns the node after the first span of sequences that begin alike.
func branch(d *draft, to int32, alike [][]span, known map[string]int32) int32 {
	var rest [][]span
	var key []byte
	for _, s := range alike {
		if len(s) == 1 {
			return to
		}
		rest = append(rest, s[1:])
		for _, b := range s[1:] {
			key = append(key, b.lo, b.hi)
		}
		key = append(key, 0, 0) // no later byte of a character is 0
	}
	if n, ok := known[string(key)]; ok {
		return n
	}
	n := d.node()
	known[string(key)] = n
	readAll(d, n, to, rest, known)
	return n
}

// normal sorts pairs of first and last and joins what touches.
func normal(set []rune) []rune {
	type pair struct{ lo, hi rune }
	var pairs []pair
	for i := 0; i < len(set); i += 2 {
		pairs = append(pairs, pair{set[i], set[i+1]})
	}
	slices.SortFunc(pairs, func(a, b pair) int { return int(a.lo - b.lo) })
	var out []rune
	for _, p := range pairs {
		if n := len(out); n > 0 && p.lo <= out[n-1]+1 {
			out[n-1] = max(out[n-1], p.hi)
		} else {
			out = append(out, p.lo, p.hi)
		}
	}
	return out
}

// others are the characters that a normal set lacks.
func others(set []rune) []rune {
	var out []rune
	next := rune(0)
	for i := 0; i < len(set); i += 2 {
		if next < set[i] {
			out = append(out, next, set[i]-1)
		}
		next = set[i+1] + 1
	}
	if next <= utf8.MaxRune {
		out = append(out, next, utf8.MaxRune)
	}
	return out
}

// less are the characters of a normal set that another lacks.
func less(set, minus []rune) []rune { return others(normal(slices.Concat(others(set), minus))) }

func contains(set []rune, r rune) bool {
	for i := 0; i < len(set); i += 2 {
		if set[i] <= r && r <= set[i+1] {
			return true
		}
	}
	return false
}

// anyRune are all characters.
var anyRune = []rune{0, utf8.MaxRune}
