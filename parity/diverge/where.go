package diverge

import (
	"fmt"
	"maps"
	"slices"

	"furlong/kv"
	"furlong/parity/taps"
)

func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }

// nearlyAll is the share of rows that counts as all of them, where a few happen to be as they should.
const nearlyAll = 0.9

// where says at which of a boundary's rows a difference is, given those, in order.
func where(d *taps.Diff, at []int, layer []kv.Spec) string {
	n := len(d.Errors)
	if len(at) == 0 || n == 0 {
		return "nowhere"
	}
	first, last := at[0], at[len(at)-1]
	rest := float64(len(at)) / float64(n-first)
	row, of := "token", "position"
	if d.Rate > 1 {
		row, of = "window", "the window that closes at position"
	}
	switch {
	case n > 1 && len(at) == n:
		return fmt.Sprintf("at every %s", row)
	case n > 1 && float64(len(at)) >= nearlyAll*float64(n) && rest < 1:
		return fmt.Sprintf("at %d of %d %ss", len(at), n, row)
	case rest >= nearlyAll && n-first > 2:
		return fmt.Sprintf("from %s %d on%s", of, d.Position(first), begins(d.Position(first), layer))
	case step(at) > 1:
		return fmt.Sprintf("at every %s %s, from %s %d on%s", ordinal(step(at)), row, of, d.Position(first), phase(d.Position(first), step(at), layer))
	case first == 0 && last < n/2 && len(at) == last+1:
		return fmt.Sprintf("up to %s %d only", of, d.Position(last))
	case len(at) == 1:
		return fmt.Sprintf("at %s %d only", of, d.Position(first))
	case float64(first) >= 0.25*float64(n) && rest > 0.25:
		return fmt.Sprintf("at %d of the %d %ss from %s %d on, none before%s", len(at), n-first, row, of, d.Position(first), begins(d.Position(first), layer))
	}
	return fmt.Sprintf("at %d of %d %ss, the first at %s %d", len(at), n, row, of, d.Position(first))
}

// step returns the number of rows from each one to the next, 0 where it is not always the same or rows are few.
func step(at []int) int {
	if len(at) < 3 {
		return 0
	}
	n := at[1] - at[0]
	for i := range len(at) - 1 {
		if at[i+1]-at[i] != n {
			return 0
		}
	}
	return n
}

func ordinal(n int) string {
	words := []string{2: "second", 3: "third", 4: "fourth", 5: "fifth", 6: "sixth", 7: "seventh", 8: "eighth"}
	if n < len(words) {
		return words[n]
	}
	end := "th"
	switch {
	case n%10 == 1 && n%100 != 11:
		end = "st"
	case n%10 == 2 && n%100 != 12:
		end = "nd"
	case n%10 == 3 && n%100 != 13:
		end = "rd"
	}
	return fmt.Sprint(n, end)
}

// begins says what begins at a position in a layer, with a colon before it; "" for nothing.
func begins(pos int, layer []kv.Spec) string {
	for _, s := range layer {
		switch {
		case s.Stream == kv.Window && pos == s.Reach:
			return fmt.Sprintf(": the first that no longer sees position 0 in its sliding window of %d", s.Reach)
		case s.Stream == kv.Window && pos == s.Reach-1:
			return fmt.Sprintf(": where the sliding window of %d is full for the first time", s.Reach)
		case s.Stream == kv.Compressed && pos == s.Rate-1:
			return fmt.Sprintf(": where the first window of %d closes", s.Rate)
		case s.Stream == kv.Compressed && pos == 2*s.Rate-1:
			return fmt.Sprintf(": where the second window of %d closes", s.Rate)
		}
	}
	return ""
}

// phase says what happens at every so many positions in a layer.
func phase(pos, every int, layer []kv.Spec) string {
	for _, s := range layer {
		if s.Stream == kv.Compressed && every == s.Rate && (pos+1)%s.Rate == 0 {
			return ": those that close a window"
		}
		if s.Stream == kv.Compressed && every == s.Rate && pos%s.Rate == 0 {
			return ": those that begin a window"
		}
	}
	return ""
}

// kindOf says what kind of attention a layer has.
func kindOf(layer []kv.Spec) string {
	rate, index := 0, false
	for _, s := range layer {
		index = index || s.Stream == kv.Index
		if s.Stream == kv.Compressed {
			rate = s.Rate
		}
	}
	switch {
	case index:
		return fmt.Sprintf("%d:1 compressed, entries chosen by an indexer", rate)
	case rate > 0:
		return fmt.Sprintf("%d:1 compressed", rate)
	}
	return "sliding window only"
}
