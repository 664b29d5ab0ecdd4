package server

import (
	"regexp/syntax"

	"furlong/api/sglang"
)

// What the stop texts and patterns of a request may come to. They are looked for at each token, and everybody's pass waits meanwhile: the dearest patterns
// allowed take tens of milliseconds.
const (
	mostStopBytes = 1 << 20 // of texts
	mostStopSteps = 1 << 10 // instructions of compiled patterns
)

// affordable refuses stop texts and patterns that would hold up others.
func affordable(p sglang.Params) error {
	size, steps := 0, 0
	for _, stop := range p.Stop {
		size += len(stop)
	}
	if size > mostStopBytes {
		return bad("stop has %d bytes, want at most %d", size, mostStopBytes)
	}
	for _, source := range p.StopRegex {
		re, err := syntax.Parse(source, syntax.Perl)
		if err != nil {
			return bad("stop_regex %q: %w", source, err)
		}
		prog, err := syntax.Compile(re.Simplify())
		if err != nil {
			return bad("stop_regex %q: %w", source, err)
		}
		if steps += len(prog.Inst); steps > mostStopSteps {
			return bad("stop_regex comes to more than %d steps for a character, want fewer patterns or shorter repetitions", mostStopSteps)
		}
	}
	return nil
}
