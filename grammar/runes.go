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
	for len(all) > 0 && d.err == nil {
		first, n, rest := all[0][0], 0, [][]span(nil)
		for ; n < len(all) && all[n][0] == first; n++ {
			if len(all[n]) > 1 {
				rest = append(rest, all[n][1:])
			}
		}
		if len(rest) < n {
			d.read(from, first.lo, first.hi, to)
		}
		if len(rest) > 0 {
			d.read(from, first.lo, first.hi, branch(d, to, rest, known))
		}
		all = all[n:]
	}
}

// branch returns the node from which sequences lead to to.
func branch(d *draft, to int32, all [][]span, known map[string]int32) int32 {
	var key []byte
	for _, s := range all {
		for _, b := range s {
			key = append(key, b.lo, b.hi)
		}
		key = append(key, 0, 0) // no byte but a first one is 0
	}
	if n, ok := known[string(key)]; ok {
		return n
	}
	n := d.node()
	known[string(key)] = n
	readAll(d, n, to, all, known)
	return n
}

// oneOf is one of several strings without a byte 0. Many short ones become a tree at once, in which ends are shared too.
func oneOf(list []string) piece {
	total, longest := 0, 0
	for _, s := range list {
		total, longest = total+len(s), max(longest, len(s))
	}
	if total*longest > 4*maxWork {
		return either(each(list, text)...)
	}
	list = slices.Compact(slices.Sorted(slices.Values(list)))
	all := slices.DeleteFunc(each(list, spans), func(s []span) bool { return len(s) == 0 })
	return func(d *draft, from, to int32) {
		if len(all) < len(list) {
			d.free(from, to)
		}
		readAll(d, from, to, all, map[string]int32{})
	}
}

// spans are the bytes of s.
func spans(s string) []span {
	all := make([]span, len(s))
	for i := range all {
		all[i] = span{lo: s[i], hi: s[i]}
	}
	return all
}

func each[T any](list []string, f func(string) T) []T {
	all := make([]T, len(list))
	for i, s := range list {
		all[i] = f(s)
	}
	return all
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
