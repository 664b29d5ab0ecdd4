package chat

import (
	"errors"
	"fmt"
	"strings"
)

// The control tokens of DeepSeek-V4.
const (
	bos        = "<｜begin▁of▁sentence｜>"
	eos        = "<｜end▁of▁sentence｜>"
	user       = "<｜User｜>"
	assistant  = "<｜Assistant｜>"
	reminder   = "<｜latest_reminder｜>"
	thinkStart = "<think>"
	thinkEnd   = ThoughtsEnd
	dsml       = "｜DSML｜" // within the tags of tool calls
)

// DeepSeek is the template of DeepSeek-V4. [OpenDeepSeek] makes one with the texts of a checkpoint.
type DeepSeek struct {
	texts Texts
}

// Texts returns the texts that are not part of the format but of what the model was taught with.
func (d *DeepSeek) Texts() Texts { return d.texts }

// Defaults returns that the model thinks.
func (d *DeepSeek) Defaults() Options { return Options{Thinking: true} }

// Begin returns where the answer to c begins.
func (d *DeepSeek) Begin(c *Conversation) (Start, error) {
	p, err := d.Render(c)
	return p.Start, err
}

// Render returns the conversation up to where the model goes on.
func (d *DeepSeek) Render(c *Conversation) (Prompt, error) {
	if err := c.check(); err != nil {
		return Prompt{}, err
	}
	turns, err := turnsOf(c.Messages)
	if err != nil {
		return Prompt{}, err
	}
	if err := checkLast(turns, c.Continue); err != nil {
		return Prompt{}, err
	}
	r := renderer{Conversation: c, texts: d.texts, lastUser: lastUser(turns), keep: c.KeepThinking || c.hasTools()}
	if err := r.head(turns); err != nil {
		return Prompt{}, err
	}
	for i, t := range turns {
		if err := r.turn(i, t, i == len(turns)-1); err != nil {
			return Prompt{}, fmt.Errorf("message %d: %w", t.first, err)
		}
	}
	if !c.Continue {
		r.answer(len(turns))
	}
	return r.Prompt, nil
}

// check refuses what no rendering could do.
func (c *Conversation) check() error {
	if len(c.Messages) == 0 {
		return errors.New("messages are empty, want at least one")
	}
	if err := c.checkEffort(); err != nil {
		return err
	}
	seen := map[string]bool{}
	for i, t := range c.Tools {
		switch {
		case t.Name == "" || strings.Contains(t.Name, `">`):
			return fmt.Errorf("tool %d is called %q, want a name, without \">", i, t.Name)
		case seen[t.Name]:
			return fmt.Errorf("tool %d is called %q, as one before", i, t.Name)
		}
		seen[t.Name] = true
	}
	return c.checkChoice(seen)
}

// checkChoice refuses a choice that cannot be kept. An answer is forced to be a call by writing its beginning, which
// thinking would have to come before.
func (c *Conversation) checkChoice(tools map[string]bool) error {
	switch c.Choice.Mode {
	case "", Auto, None:
		return nil
	case Required, Named:
	default:
		return fmt.Errorf("tool choice is %q, want auto, none, required or a function", c.Choice.Mode)
	}
	switch {
	case len(tools) == 0:
		return fmt.Errorf("tool choice is %q, but there are no tools", c.Choice.Mode)
	case c.Choice.Mode == Named && !tools[c.Choice.Name]:
		return fmt.Errorf("tool choice names %q, want one of the tools", c.Choice.Name)
	case c.Thinking:
		return fmt.Errorf("tool choice is %q with thinking, want it without: a call can be forced only where the answer begins", c.Choice.Mode)
	case c.Continue:
		return fmt.Errorf("tool choice is %q for a message to be continued, want auto or none", c.Choice.Mode)
	}
	return nil
}

// checkLast wants somebody to answer, or something to continue.
func checkLast(turns []turn, goOn bool) error {
	last := turns[len(turns)-1]
	switch {
	case goOn && last.kind != assistantTurn:
		return errors.New("the last message is to be continued, want it to be the assistant's")
	case goOn && len(last.calls) > 0:
		return errors.New("the last message is to be continued, want it without tool calls")
	case !goOn && last.kind != userTurn:
		return errors.New("the last message is neither the user's, a developer's nor a tool's, want one to answer")
	}
	return nil
}

// A renderer writes one prompt.
type renderer struct {
	*Conversation
	Prompt
	texts    Texts
	lastUser int  // the last question's place among the turns
	keep     bool // thoughts before it stay
}

// head begins the prompt. Tools are told of in the system text, which is empty if the first turn is another's.
func (r *renderer) head(turns []turn) error {
	r.control(bos)
	if r.Effort == "max" {
		if r.texts.Effort == "" {
			return fmt.Errorf("reasoning effort is max: %w", r.texts.EffortErr)
		}
		r.text(r.texts.Effort)
	}
	if turns[0].kind != systemTurn && r.hasTools() {
		return r.tools()
	}
	return nil
}

// turn writes the i-th turn.
func (r *renderer) turn(i int, t turn, last bool) error {
	switch t.kind {
	case systemTurn:
		r.text(t.text)
		if i == 0 && r.hasTools() {
			return r.tools()
		}
	case userTurn:
		r.control(user)
		r.text(t.text)
	case reminderTurn:
		r.control(reminder)
		r.text(t.text)
	case assistantTurn:
		return r.said(i, t, last && r.Continue)
	}
	return nil
}

// thinks tells whether the assistant's i-th turn shows its thoughts.
func (r *renderer) thinks(i int) bool { return r.Thinking && (r.keep || i > r.lastUser) }

// said writes what the assistant has said. A turn to be continued has no end, and thinks on if it has said nothing yet.
func (r *renderer) said(i int, t turn, open bool) error {
	r.control(assistant)
	r.Start = Start{Mode: Content}
	switch {
	case !r.thinks(i):
		r.control(thinkEnd)
	case open && t.text == "":
		r.control(thinkStart)
		r.text(t.reasoning)
		r.Start = Start{Mode: Reasoning}
	default:
		r.control(thinkStart)
		r.text(t.reasoning)
		r.control(thinkEnd)
	}
	r.text(t.text)
	if err := r.calls(t.calls); err != nil || open {
		return err
	}
	r.control(eos)
	return nil
}

// answer writes the beginning of the answer, which is the i-th turn.
func (r *renderer) answer(i int) {
	r.control(assistant)
	if r.thinks(i) {
		r.control(thinkStart)
		r.Start = Start{Mode: Reasoning}
		return
	}
	r.control(thinkEnd)
	r.Start = Start{Mode: Content}
	if r.forced() {
		r.force()
	}
}

// force begins a call.
func (r *renderer) force() {
	r.marked(callsOpening)
	r.Start.Prefix = callsOpening
	if r.Choice.Mode == Named {
		name := r.Choice.Name + "\">\n"
		r.marked(invokeOpening)
		r.text(name)
		r.Start.Prefix += invokeOpening + name
	}
}
