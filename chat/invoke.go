package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// call reads one call, or the end of the block, and reports whether there may be more to read.
func (p *Parser) call(d *Delta) bool {
	text := bytes.TrimLeft(p.held, " \t\r\n")
	for _, tag := range []string{callsTag, "function_calls"} {
		closing := []byte("</" + dsml + tag + ">")
		if bytes.HasPrefix(text, closing) {
			p.open, p.state = "", inContent
			p.keep(string(text[len(closing):]))
			return true
		}
		if bytes.HasPrefix(closing, text) {
			return false
		}
	}
	if opening := []byte(invokeOpening); !bytes.HasPrefix(text, opening) {
		if bytes.HasPrefix(opening, text) {
			return false
		}
		p.fail(fmt.Errorf("block goes on with %.40q, want an invoke element or its end", text))
		return true
	}
	return p.invoke(d, text)
}

// invoke reads the call that text begins with, once it is complete.
func (p *Parser) invoke(d *Delta, text []byte) bool {
	from := max(0, p.looked-len(invokeClosing)-(len(p.held)-len(text)))
	at := bytes.Index(text[from:], []byte(invokeClosing))
	if at < 0 {
		p.looked = len(p.held)
		return false
	}
	p.looked = 0
	end := from + at
	c, err := parseInvoke(string(text[len(invokeOpening):end]))
	if err != nil {
		p.fail(err)
		return true
	}
	d.Calls = append(d.Calls, c)
	p.open = ""
	p.keep(string(text[end+len(invokeClosing):]))
	return true
}

// parseInvoke reads what stands between the opening of a call and its end: the name, then arguments.
func parseInvoke(s string) (Call, error) {
	name, s, found := strings.Cut(s, `">`)
	if !found || name == "" {
		return Call{}, errors.New("a call has no name")
	}
	var b strings.Builder
	seen := map[string]bool{}
	for s = trimSpace(s); s != ""; s = trimSpace(s) {
		a, rest, err := parseParameter(s)
		if err != nil {
			return Call{}, fmt.Errorf("call of %q: %w", name, err)
		}
		if seen[a.name] {
			return Call{}, fmt.Errorf("call of %q: argument %q is given twice", name, a.name)
		}
		if s = rest; len(seen) > 0 {
			b.WriteString(", ")
		}
		seen[a.name] = true
		a.write(&b)
	}
	return Call{Name: name, Arguments: "{" + b.String() + "}"}, nil
}

func trimSpace(s string) string { return strings.TrimLeft(s, " \t\r\n") }

// parseParameter reads one argument.
func parseParameter(s string) (a argument, rest string, err error) {
	s, found := strings.CutPrefix(s, paramOpening)
	if !found {
		return a, "", fmt.Errorf("goes on with %.40q, want a parameter element", s)
	}
	name, s, named := strings.Cut(s, paramKind)
	kind, s, kinded := strings.Cut(s, `">`)
	value, rest, ended := strings.Cut(s, paramClosing)
	if !named || !kinded || !ended {
		return a, "", fmt.Errorf("argument %.40q is not complete", name)
	}
	switch kind {
	case "true":
		return argument{name, value, true}, rest, nil
	case "false":
		if !json.Valid([]byte(value)) {
			return a, "", fmt.Errorf("argument %q is %.40q, want JSON", name, value)
		}
		return argument{name, strings.TrimSpace(value), false}, rest, nil
	}
	return a, "", fmt.Errorf(`argument %q has string=%q, want "true" or "false"`, name, kind)
}

// write writes the argument as a member of a JSON object.
func (a argument) write(b *strings.Builder) {
	quote(b, a.name)
	b.WriteString(": ")
	if a.isString {
		quote(b, a.value)
		return
	}
	b.WriteString(a.value)
}
