// Package page writes what a comparison of two engines found as one self-contained HTML page: a file that can be opened anywhere, sent, and kept.
//
// The page holds no script and asks for nothing from elsewhere; its policy forbids both. Order is that of a reader's questions: do they agree
// (the verdict), how large is the gap and where (figures, distribution, position, probability, kind of token, prompt), where does it begin (the
// walk through the layers), and which tokens are they (the strips). In a strip the colour of a token says which side holds it for likelier, its
// depth how large the gap is; a pointer that rests on it reads both logprobs.
//
// Text of models is shown and never obeyed: it is escaped, and characters that act on what is around them (controls, bidirectional marks) are
// shown by name.
//
// Units: gaps and logprobs are in nats, shares in percent. Errors: those of the writer. Sources: ours.
package page
