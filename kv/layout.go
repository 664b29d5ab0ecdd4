package kv

import (
	"fmt"

	"furlong/dtype"
)

// A class says how long rows are needed. The streams of a class share one page table.
type class uint8

const (
	recent  class = iota // read by the next few tokens only
	lasting              // read by every later token
	numClasses
)

var classNames = [numClasses]string{"recent", "lasting"}

func (c class) String() string { return classNames[c] }

func (s Spec) class() class {
	if s.Reach > 0 {
		return recent
	}
	return lasting
}

// A Layout says how the streams of a model lie in pages.
type Layout struct {
	Layers [][]Spec
	Page   int // tokens of a page: a multiple of every rate
	Reach  int // tokens, the newest included, that any recent row stays readable; at least 1
}

// NewLayout returns the layout with the smallest pages that hold atLeast tokens and only whole windows.
func NewLayout(layers [][]Spec, atLeast int) Layout {
	l := Layout{Layers: layers, Page: 1, Reach: 1}
	for _, layer := range layers {
		for _, s := range layer {
			l.Page = l.Page / gcd(l.Page, s.Rate) * s.Rate
			l.Reach = max(l.Reach, s.Reach*s.Rate)
		}
	}
	l.Page *= max(1, (atLeast+l.Page-1)/l.Page)
	return l
}

// Pages returns how many pages n tokens take from the start of a sequence.
func (l Layout) Pages(n int) int { return (n + l.Page - 1) / l.Page }

// Recent returns the most recent pages that a sequence can need while it computes n tokens in one pass.
func (l Layout) Recent(n int) int { return (l.Reach - 1 + n + 2*l.Page - 2) / l.Page }

// Bytes returns the memory of one recent and of one lasting page.
func (l Layout) Bytes(t dtype.Type) (recentBytes, lastingBytes int) {
	var sizes [numClasses]int
	for _, layer := range l.Layers {
		for _, s := range layer {
			sizes[s.class()] += s.element(t).Bytes(l.Page / s.Rate * s.Width)
		}
	}
	return sizes[recent], sizes[lasting]
}

// needed returns the first page that the token at position n, or a later one, can read.
func (l Layout) needed(n int) int { return max(0, n-l.Reach+1) / l.Page }

// rows returns how many rows of a stream one page holds.
func (l Layout) rows(s Spec) int {
	if s.Rate < 1 || l.Page%s.Rate != 0 {
		panic(fmt.Sprintf("kv: a page of %d tokens cannot hold whole windows of %d", l.Page, s.Rate))
	}
	return l.Page / s.Rate
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
