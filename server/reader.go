package server

import (
	"regexp"
	"strings"

	"furlong/tokenizer"
)

// regexTail is how much of a text before its newest part a stop pattern may span, in bytes.
const regexTail = 4096

// A reader decodes a response as it grows and looks for what ends it.
type reader struct {
	stream  *tokenizer.Stream
	text    strings.Builder // complete characters
	stops   []string
	longest int // of stops, in bytes
	regexes []*regexp.Regexp

	found   bool
	cut     int // where the match begins
	matched string
}

// newReader returns the reader of a job, nil when its text is of no interest before the end.
func (s *Server) newReader(p *spec, followed bool) *reader {
	tok := s.parts.Tokenizer
	if tok == nil || len(p.stops)+len(p.regexes) == 0 && !followed {
		return nil
	}
	r := &reader{stops: p.stops, regexes: p.regexes, stream: tokenizer.NewStream(tok)}
	if p.special {
		r.stream = tokenizer.NewSpecialStream(tok)
	}
	for _, stop := range p.stops {
		r.longest = max(r.longest, len(stop))
	}
	return r
}

// next takes a token and reports whether the text now holds what ends it.
func (r *reader) next(token int32) bool {
	part := r.stream.Next(token)
	if r.found || part == "" {
		return r.found
	}
	before := r.text.Len()
	r.text.WriteString(part)
	r.look(before)
	return r.found
}

// look searches for the first match that ends behind before.
func (r *reader) look(before int) {
	all := r.text.String()
	from := max(0, before-r.longest+1)
	for _, stop := range r.stops {
		if i := strings.Index(all[from:], stop); i >= 0 && (!r.found || from+i < r.cut) {
			r.found, r.cut, r.matched = true, from+i, stop
		}
	}
	if r.found {
		return
	}
	from = max(0, before-regexTail)
	for _, re := range r.regexes {
		if at := re.FindStringIndex(all[from:]); at != nil && at[1] > at[0] {
			r.found, r.cut, r.matched = true, from+at[0], all[from+at[0]:from+at[1]]
			return
		}
	}
}

// safe returns the text that will stand whatever comes. When what ends a response is cut off, that is the text before a possible beginning of a stop.
func (r *reader) safe(trim bool) string {
	all := r.text.String()
	if !trim {
		return all
	}
	if r.found {
		return all[:r.cut]
	}
	held := 0
	for _, stop := range r.stops {
		for n := min(len(stop)-1, len(all)); n > held; n-- {
			if strings.HasSuffix(all, stop[:n]) {
				held = n
				break
			}
		}
	}
	return all[:len(all)-held]
}

// decode returns the text of tokens.
func (s *Server) decode(tokens []int32, special bool) string {
	switch {
	case s.parts.Tokenizer == nil:
		return ""
	case special:
		return tokenizer.DecodeSpecial(s.parts.Tokenizer, tokens)
	}
	return s.parts.Tokenizer.Decode(tokens)
}

// spell returns the text of one token alone, special ones spelled out.
func (s *Server) spell(token int32) string {
	if s.parts.Tokenizer == nil {
		return ""
	}
	return string(s.parts.Tokenizer.AppendSpecial(nil, token))
}
