package chat

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Options say how a conversation is rendered. Start from the template's Defaults.
type Options struct {
	Thinking     bool   // the model thinks before it answers
	KeepThinking bool   // thoughts of turns before the last question stay; otherwise they go, unless there are tools
	Effort       string // "", or low, medium, high, which are as the model is; or max
	Continue     bool   // the last message is the assistant's, and the model goes on with it
}

// Set applies what clients call chat_template_kwargs: thinking_mode (thinking or chat), enable_thinking and thinking,
// which mean the same as booleans, drop_thinking and reasoning_effort. Any other name is refused.
func (o *Options) Set(kwargs map[string]json.RawMessage) error {
	think := map[bool]string{} // the name that asked for it
	for _, name := range slices.Sorted(maps.Keys(kwargs)) {
		if err := o.set(name, kwargs[name], think); err != nil {
			return fmt.Errorf("chat_template_kwargs: %s: %w", name, err)
		}
	}
	switch {
	case len(think) == 2:
		return fmt.Errorf("chat_template_kwargs: %s is for thinking and %s against it", think[true], think[false])
	case len(think) == 1:
		_, o.Thinking = think[true]
	}
	return nil
}

func (o *Options) set(name string, raw json.RawMessage, think map[bool]string) error {
	var on bool
	var word string
	switch name {
	case "thinking_mode":
		if err := json.Unmarshal(raw, &word); err != nil || word != "thinking" && word != "chat" {
			return fmt.Errorf("value is %s, want \"thinking\" or \"chat\"", raw)
		}
		think[word == "thinking"] = name
	case "enable_thinking", "thinking":
		if err := json.Unmarshal(raw, &on); err != nil {
			return fmt.Errorf("value is %s, want true or false", raw)
		}
		think[on] = name
	case "drop_thinking":
		if err := json.Unmarshal(raw, &on); err != nil {
			return fmt.Errorf("value is %s, want true or false", raw)
		}
		o.KeepThinking = !on
	case "reasoning_effort":
		if err := json.Unmarshal(raw, &word); err != nil {
			return fmt.Errorf("value is %s, want a string", raw)
		}
		o.Effort = word
	default:
		return fmt.Errorf("unknown, want thinking_mode, enable_thinking, thinking, drop_thinking or reasoning_effort")
	}
	return nil
}

// checkEffort refuses an effort that no template knows, and one that could have no effect.
func (o *Options) checkEffort() error {
	switch o.Effort {
	case "", "low", "medium", "high":
		return nil
	case "max":
		if !o.Thinking {
			return fmt.Errorf("reasoning effort is max without thinking, want thinking")
		}
		return nil
	}
	return fmt.Errorf("reasoning effort is %q, want low, medium, high or max", o.Effort)
}
