package server

import (
	"fmt"
	"sync"

	"furlong/grammar"
	"furlong/rl"
	"furlong/tokenizer"
)

// compilers are what makes a grammar of each kind of source.
var compilers = map[string]func(source string) (*grammar.Grammar, error){
	"regex": grammar.CompileRegex, "json_schema": grammar.CompileSchema, "ebnf": grammar.CompileEBNF, "structural_tag": grammar.CompileTags,
}

// mostGrammars is how many grammars are kept; requests tend to repeat few.
const mostGrammars = 64

// grammars compiles sources once and keeps what requests repeat. Make one with newGrammars.
type grammars struct {
	vocabulary func() *grammar.Vocabulary // made when it is first asked for: large ones take a while

	mu   sync.Mutex
	kept map[string]*compiled
	last []string // keys, the least recently asked for first
}

// A compiled is a grammar, or why there is none.
type compiled struct {
	once sync.Once
	g    *grammar.Grammar
	err  error
}

// newGrammars returns grammars over the tokens of t, of which ends end a text.
func newGrammars(t tokenizer.Tokenizer, vocab int, ends []int32) *grammars {
	return &grammars{kept: map[string]*compiled{}, vocabulary: sync.OnceValue(func() *grammar.Vocabulary {
		bytesOf := func(id int32) []byte {
			if int(id) >= t.Size() {
				return nil
			}
			return t.AppendToken(nil, id)
		}
		return grammar.NewVocabulary(vocab, bytesOf, ends)
	})}
}

// start returns a constraint at the beginning of a text.
func (s *grammars) start(kind, source string) (rl.Constraint, error) {
	c := s.entry(kind + "\x00" + source)
	c.once.Do(func() { c.g, c.err = compilers[kind](source) })
	if c.err != nil {
		return nil, fmt.Errorf("%s: %w", kind, c.err)
	}
	return c.g.Start(s.vocabulary()), nil
}

// entry returns what is kept under a key, new if there was nothing. When there are too many, the one goes that was not asked for the longest.
func (s *grammars) entry(key string) *compiled {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.kept[key]
	if c == nil {
		c = &compiled{}
		s.kept[key] = c
	}
	for i, k := range s.last {
		if k == key {
			s.last = append(s.last[:i], s.last[i+1:]...)
			break
		}
	}
	if s.last = append(s.last, key); len(s.last) > mostGrammars {
		delete(s.kept, s.last[0])
		s.last = s.last[1:]
	}
	return c
}
