package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// The tags of tool calls. A call is an element with one element for each argument:
//
//	<｜DSML｜tool_calls>
//	<｜DSML｜invoke name="weather">
//	<｜DSML｜parameter name="city" string="true">Paris</｜DSML｜parameter>
//	<｜DSML｜parameter name="days" string="false">3</｜DSML｜parameter>
//	</｜DSML｜invoke>
//	</｜DSML｜tool_calls>
const (
	callsTag     = "tool_calls"
	callsOpening = "\n\n<" + dsml + callsTag + ">\n"
	callsClosing = "</" + dsml + callsTag + ">"

	invokeOpening = "<" + dsml + `invoke name="`
	invokeClosing = "</" + dsml + "invoke>"

	paramOpening = "<" + dsml + `parameter name="`
	paramKind    = `" string="`
	paramClosing = "</" + dsml + "parameter>"
)

// tools tells of the tools, after the system text. Their schemas are the client's, so text that spells the mark of
// tools in them is text.
func (r *renderer) tools() error {
	schemas := make([]string, len(r.Tools))
	for i, t := range r.Tools {
		s, err := spaced(t.Schema)
		if err != nil {
			return fmt.Errorf("tool %q: %w", t.Name, err)
		}
		schemas[i] = s
	}
	if r.texts.Tools == "" {
		return fmt.Errorf("tools are given: %w", r.texts.ToolsErr)
	}
	r.text("\n\n")
	r.filled(r.texts.Tools, strings.Join(schemas, "\n"))
	return nil
}

// filled writes a text of the checkpoint's with its places filled.
func (p *Prompt) filled(s, schemas string) {
	for {
		at := anyPlace.FindStringIndex(s)
		if at == nil {
			p.text(s)
			return
		}
		p.text(s[:at[0]])
		switch place := s[at[0]:at[1]]; place {
		case "{{", "}}":
			p.text(place[1:])
		case schemasPlace:
			p.text(schemas)
		default:
			p.control(places[place])
		}
		s = s[at[1]:]
	}
}

// calls writes the calls that the assistant made.
func (r *renderer) calls(calls []Call) error {
	if len(calls) == 0 {
		return nil
	}
	r.marked(callsOpening)
	for _, c := range calls {
		if err := r.call(c); err != nil {
			return fmt.Errorf("call of %q: %w", c.Name, err)
		}
	}
	r.marked(callsClosing)
	return nil
}

func (r *renderer) call(c Call) error {
	if c.Name == "" || strings.Contains(c.Name, `">`) {
		return errors.New(`want a name without ">`)
	}
	r.marked(invokeOpening)
	r.text(c.Name + "\">\n")
	arguments, err := argumentsOf(c.Arguments)
	if err != nil {
		return err
	}
	for _, a := range arguments {
		r.marked(paramOpening)
		r.text(fmt.Sprintf("%s%s%t\">%s", a.name, paramKind, a.isString, a.value))
		r.marked(paramClosing + "\n")
	}
	if len(arguments) == 0 {
		r.text("\n")
	}
	r.marked(invokeClosing + "\n")
	return nil
}

// An argument is one value by name: a string as it is, anything else as JSON.
type argument struct {
	name, value string
	isString    bool
}

// argumentsOf returns the members of a JSON object in their order.
func argumentsOf(object string) (list []argument, err error) {
	d := json.NewDecoder(strings.NewReader(object))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, fmt.Errorf("arguments are %.80q, want a JSON object", object)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("arguments: %w", err)
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, fmt.Errorf("arguments: %q: %w", name, err)
		}
		a, err := argumentOf(name.(string), raw) // in an object a key is a string
		if err != nil {
			return nil, fmt.Errorf("arguments: %q: %w", name, err)
		}
		list = append(list, a)
	}
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("arguments: %w", err)
	}
	if d.More() {
		return nil, errors.New("arguments: more follows after the object, want its end")
	}
	return list, nil
}

func argumentOf(name string, raw json.RawMessage) (a argument, err error) {
	if strings.Contains(name, paramKind) {
		return a, fmt.Errorf("want a name without %s", paramKind)
	}
	a = argument{name: name, isString: bytes.HasPrefix(raw, []byte(`"`))}
	if a.isString {
		return a, json.Unmarshal(raw, &a.value)
	}
	a.value, err = spaced(raw)
	return a, err
}
