package chat

import (
	"fmt"

	"furlong/tokenizer"
)

// A Template renders conversations for one family of models. Its methods may be called from several goroutines.
type Template interface {
	// Defaults are the options of a request that says nothing.
	Defaults() Options
	// Render returns what the model reads before its answer to c.
	Render(c *Conversation) (Prompt, error)
	// Begin returns where the answer to c begins, for requests that bring their prompt as ids: of Render, only that.
	Begin(c *Conversation) (Start, error)
}

// For returns the template of the model in a directory that has the tokenizer t: DeepSeek's if its control tokens are
// in the vocabulary, Plain for bytes.
func For(t tokenizer.Tokenizer, dir string) (Template, error) {
	if _, ok := t.(tokenizer.Bytes); ok {
		return Plain{}, nil
	}
	for _, mark := range []string{bos, eos, user, assistant, thinkStart, thinkEnd, dsml} {
		if len(t.EncodeSpecial(mark)) != 1 {
			return nil, fmt.Errorf("chat: the vocabulary has no token %q, want one: only DeepSeek-V4's template is known", mark)
		}
	}
	return OpenDeepSeek(dir)
}
