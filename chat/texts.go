package chat

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Texts are sentences that the model was taught with, and that come with its checkpoint.
type Texts struct {
	// Tools tells how to call tools. {tool_schemas} is where the tools are listed, {dsml_token}, {thinking_start_token}
	// and {thinking_end_token} are control tokens, and {{ and }} are braces.
	Tools string
	// Effort comes first where the reasoning effort is max.
	Effort string
	// From is the file they were taken from, "" where they are ours.
	From string
	// ToolsErr and EffortErr say why a text is not there. Requests that need it are refused, and told.
	ToolsErr, EffortErr error
}

const schemasPlace = "{tool_schemas}"

// places are where control tokens stand in a text.
var places = map[string]string{"{dsml_token}": dsml, "{thinking_start_token}": thinkStart, "{thinking_end_token}": thinkEnd}

var anyPlace = regexp.MustCompile(`\{\{|\}\}|\{[^{}]*\}`)

// ourTools is what models of our own are told.
const ourTools = `## Tools

You can call the tools listed below. To do so, end your answer with a block of this form, with one invoke element for each call and one parameter element for each argument:

<{dsml_token}tool_calls>
<{dsml_token}invoke name="NAME">
<{dsml_token}parameter name="ARGUMENT" string="true|false">VALUE</{dsml_token}parameter>
</{dsml_token}invoke>
</{dsml_token}tool_calls>

An argument that is a string has string="true" and stands as it is; any other has string="false" and is written as JSON.

The tools:

{tool_schemas}
`

// checkTools refuses a text with no place for tools, or with places that nothing is known to fill.
func checkTools(text string) error {
	if n := strings.Count(text, schemasPlace); n != 1 {
		return fmt.Errorf("text has %d places %s, want one", n, schemasPlace)
	}
	for _, place := range anyPlace.FindAllString(text, -1) {
		if _, ok := places[place]; !ok && place != schemasPlace && place != "{{" && place != "}}" {
			return fmt.Errorf("text has a place %.40q, want %s or a control token", place, schemasPlace)
		}
	}
	return nil
}

var errNoEncoder = errors.New("the checkpoint's encoder is not there, which has the text for it")

// OpenDeepSeek returns the template with the texts of the encoder beside a checkpoint, a program in Python under
// encoding/ of which two strings are read: one whose name begins with TOOLS and ends with TEMPLATE, and
// REASONING_EFFORT_MAX. Without that program tools are told of in words of ours, and there is no effort max.
func OpenDeepSeek(dir string) (*DeepSeek, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "encoding", "encoding_*.py"))
	if err != nil {
		return nil, err
	}
	if len(paths) > 1 {
		return nil, fmt.Errorf("%s: %d encoders, want one", filepath.Join(dir, "encoding"), len(paths))
	}
	if len(paths) == 0 {
		return &DeepSeek{texts: Texts{Tools: ourTools, EffortErr: errNoEncoder}}, nil
	}
	raw, err := os.ReadFile(paths[0])
	if err != nil {
		return nil, err
	}
	return &DeepSeek{texts: textsOf(paths[0], string(raw))}, nil
}

var (
	toolsName  = regexp.MustCompile(`(?m)^TOOLS\w*TEMPLATE\s*(?::\s*str\s*)?=\s*`)
	effortName = regexp.MustCompile(`(?m)^REASONING_EFFORT_MAX\s*(?::\s*str\s*)?=\s*`)
)

// textsOf finds the strings in the source of an encoder.
func textsOf(path, source string) Texts {
	t := Texts{From: path}
	if t.Tools, t.ToolsErr = assigned(source, toolsName); t.ToolsErr == nil {
		t.ToolsErr = checkTools(t.Tools)
	}
	t.Effort, t.EffortErr = assigned(source, effortName)
	if t.ToolsErr != nil {
		t.Tools, t.ToolsErr = "", fmt.Errorf("%s: text about tools: %w", path, t.ToolsErr)
	}
	if t.EffortErr != nil {
		t.Effort, t.EffortErr = "", fmt.Errorf("%s: text about effort: %w", path, t.EffortErr)
	}
	return t
}

// assigned returns the string that one name is set to.
func assigned(source string, name *regexp.Regexp) (string, error) {
	at := name.FindAllStringIndex(source, -1)
	if len(at) != 1 {
		return "", fmt.Errorf("%d assignments match %s, want one", len(at), name)
	}
	text, err := pythonString(source[at[0][1]:])
	if err == nil && text == "" {
		err = errors.New("it is empty")
	}
	return text, err
}
