package chat

import "encoding/json"

// A Message is one turn of a conversation, as clients send it.
type Message struct {
	Role      string // system, developer, user, assistant, tool, or latest_reminder
	Content   string
	Reasoning string // what the assistant thought before its content
	Calls     []Call // of the assistant, after its content
	CallID    string // of a tool: the call it answers; "" for the first that is not answered yet
}

// A Call is a use of a tool.
type Call struct {
	ID        string // which tool messages refer to; parsers leave it to their caller
	Name      string
	Arguments string // a JSON object
}

// A Tool is a function that the model may call.
type Tool struct {
	Name   string
	Schema json.RawMessage // the object with name, description and parameters, as the client wrote it
}

// How a Choice may bind the model.
const (
	Auto     = "auto"     // call tools or don't; the empty string means the same
	None     = "none"     // the model is not told of any tool
	Required = "required" // the answer is a call
	Named    = "function" // the answer is a call of the one that is named
)

// A Choice says whether the answer has to call a tool.
type Choice struct {
	Mode string
	Name string // for Named
}

// A Conversation is what a template renders.
type Conversation struct {
	Messages []Message
	Tools    []Tool
	Choice   Choice
	Options
}

// hasTools tells whether the model hears of tools.
func (c *Conversation) hasTools() bool { return len(c.Tools) > 0 && c.Choice.Mode != None }

// forced tells whether the answer must be a call.
func (c *Conversation) forced() bool { return c.Choice.Mode == Required || c.Choice.Mode == Named }
