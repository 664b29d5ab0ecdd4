package chat

import (
	"errors"
	"fmt"
	"strings"
)

// ThoughtsEnd is the control token between thoughts and content.
const ThoughtsEnd = "</think>"

// A Mode says what an answer begins with.
type Mode uint8

// The modes of a [Start].
const (
	Verbatim  Mode = iota // all of it is content, whatever it says
	Content               // content, then perhaps tool calls
	Reasoning             // thoughts up to </think>, then as Content
)

// A Start is where an answer begins: the prompt has the marks before it.
type Start struct {
	Mode   Mode
	Prefix string // what the prompt has of the answer already, which its parser must know
	// Joined leaves thoughts and their end where they stand, in the content.
	Joined bool
}

// A Delta is what has become certain with a piece of an answer. Each call comes whole.
type Delta struct {
	Reasoning, Content string
	Calls              []Call
}

// An Answer is a whole one: deltas, end to end.
type Answer Delta

// Parse takes a whole answer apart, the text of its tokens without the one that ended it. The error says what is wrong
// with its tool calls; then the content ends with the text of those that could not be read.
func Parse(text string, s Start) (Answer, error) {
	p := NewParser(s)
	first := p.Next(text)
	last, err := p.End()
	return Answer{first.Reasoning + last.Reasoning, first.Content + last.Content, append(first.Calls, last.Calls...)}, err
}

// A Parser takes an answer apart while it is generated. However the text is cut, the deltas are the same end to end.
type Parser struct {
	start  Start
	state  state
	held   []byte // what is not certain yet
	looked int    // bytes of held in which no call ends
	open   string // the opening of a block no call of which was read yet
	err    error  // what was wrong with the first call that could not be read
}

type state uint8

const (
	inContent state = iota
	inReasoning
	inCalls
	broken // in tool calls that can't be read, or behind them
)

// NewParser returns a parser at the start of an answer.
func NewParser(s Start) *Parser {
	p := &Parser{start: s}
	if s.Mode == Reasoning {
		p.state = inReasoning
	}
	p.Next(s.Prefix) // is the opening of tool calls, or nothing: there is no delta
	return p
}

// Next takes more of the answer.
func (p *Parser) Next(text string) (d Delta) {
	if p.start.Mode == Verbatim {
		return Delta{Content: text}
	}
	p.held = append(p.held, text...)
	for p.step(&d) {
	}
	return d
}

// End says that the answer is complete. The error is about tool calls that could not be read, whose text the delta has.
func (p *Parser) End() (d Delta, err error) {
	rest := string(p.held)
	p.held = nil
	switch p.state {
	case inReasoning:
		p.think(&d, rest)
	case inCalls:
		p.err = errors.New("tool calls: the answer ends before they do")
		if p.open == "" && strings.TrimSpace(rest) == "" {
			return d, p.err
		}
		d.Content = p.open + rest
	default:
		d.Content = rest
	}
	return d, p.err
}

// step goes as far as the state stays the same, and reports whether it has changed.
func (p *Parser) step(d *Delta) bool {
	switch p.state {
	case inReasoning:
		return p.reasoning(d)
	case inContent:
		return p.content(d)
	case inCalls:
		return p.call(d)
	}
	d.Content += p.open + string(p.held)
	p.open, p.held = "", p.held[:0]
	return false
}

// think adds thoughts to the delta.
func (p *Parser) think(d *Delta, text string) {
	if p.start.Joined {
		d.Content += text
		return
	}
	d.Reasoning += text
}

func (p *Parser) reasoning(d *Delta) bool {
	text := string(p.held)
	if before, after, found := strings.Cut(text, thinkEnd); found {
		p.think(d, before)
		if p.start.Joined {
			d.Content += thinkEnd
		}
		p.keep(after)
		p.state = inContent
		return true
	}
	n := len(text) - unfinished(text, thinkEnd)
	p.think(d, text[:n])
	p.keep(text[n:])
	return false
}

// openings of a block of calls: the second is that of the version before.
var openings = []string{"<" + dsml + callsTag + ">", "<" + dsml + "function_calls>"}

func (p *Parser) content(d *Delta) bool {
	text := string(p.held)
	at, size := len(text), 0
	for _, o := range openings {
		if i := strings.Index(text[:at], o); i >= 0 {
			at, size = i, len(o)
		}
	}
	if size > 0 {
		before := strings.TrimSuffix(text[:at], "\n\n")
		d.Content += before
		p.open = text[len(before) : at+size]
		p.keep(text[at+size:])
		p.looked, p.state = 0, inCalls
		return true
	}
	n := len(text)
	for _, o := range openings {
		n = min(n, len(text)-unfinished(text, "\n\n"+o), len(text)-unfinished(text, o))
	}
	d.Content += text[:n]
	p.keep(text[n:])
	return false
}

func (p *Parser) keep(text string) { p.held = append(p.held[:0], text...) }

// unfinished returns the length of the longest end of text that mark could begin with, without being all of it.
func unfinished(text, mark string) int {
	for n := min(len(text), len(mark)-1); n > 0; n-- {
		if strings.HasSuffix(text, mark[:n]) {
			return n
		}
	}
	return 0
}

// fail gives up on a block of calls: the rest of the answer is text.
func (p *Parser) fail(err error) {
	p.err = fmt.Errorf("tool calls: %w", err)
	p.state = broken
}
