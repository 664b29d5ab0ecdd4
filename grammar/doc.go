// Package grammar says which tokens may come next when a text must have a given form: match a regular expression, be JSON of a schema, be a
// sentence of a grammar in Backus-Naur form, or be free text with structures in it.
//
// All forms become one thing: rules, each a deterministic automaton over bytes whose edges read a byte or call a rule. Reading a text means to
// know every place that it may have come to: an automaton's node together with what is to follow when that rule ends. What is to follow is
// itself a set of such places, so a set of places is a stack that shares what it can: two callers of a rule at one point of the text wait in one set.
// Equal sets are one value in memory. So a set remembers where each byte leads and which tokens it allows, and everybody who reads by the
// grammar profits.
//
// A token is a string of bytes, be they whole characters or not. Tokens lie in a trie, and the mask of a place is one walk over it. Most of
// that walk depends on the node alone and is done once for each node; what is left are the tokens that go past the rule's end.
//
// Compile a source to a Grammar, make one Vocabulary for a tokenizer, and Start a Matcher for each response:
//
//	g, err := grammar.CompileSchema(`{"type": "integer", "minimum": 1}`)
//	m := g.Start(vocabulary)
//	m.Allow(allowed) // draw one of these
//	m.Accept(token)  // and say which it was, until m.Done()
//
// Limits are part of the contract, since sources come from strangers: a source that would make too large an automaton is an error, and a
// mask that would take too long is decided in part, on the safe side, and counted (Matcher.Narrowed).
//
// Shapes: a mask has one entry per token of the vocabulary; entries past its size are never allowed.
// Units: bytes for the length of sources and tokens; code points for the length of JSON strings.
// Errors: a source that is wrong, too large, or satisfied by no text is an error that names the place and the construct; nothing that was asked
// for is left out in silence.
// Sources: docs/adr/0013-constrained-decoding.md; regular expressions are those of regexp/syntax; schemas are JSON Schema 2020-12, as far as
// CompileSchema says; sharing stacks is Tomita's graph-structured stack, and direct left recursion becomes a loop as in Moore,
// "Removing left recursion from context-free grammars" (2000).
package grammar
