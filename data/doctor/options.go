package doctor

import (
	"furlong/chat"
	"furlong/data"
	"furlong/rl"
	"furlong/tokenizer"
)

// Options say what is looked at, and as what. Start from Default.
type Options struct {
	Files   []string
	Against []string    // files that a run is evaluated on
	Data    data.Config // keys, filters and limits of a run
	// AgainstInput and AgainstLabel are the keys of the files in Against; "" is those of Data.
	AgainstInput, AgainstLabel string
	Grades                     rl.Rewarder         // looks at labels; nil lets them pass
	Tokens                     tokenizer.Tokenizer // counts; Bytes if there is none
	MostNear                   int                 // different problems among which near ones are looked for
	// Templates are the chat templates that a run may have: what none of them renders is a finding. None is all that there are.
	Templates []chat.Template

	// Progress is told what is being done, and how far it has come; nil is told nothing.
	Progress func(what string, done, total int64)
}

// Default returns the settings of a run without flags, but for duplicates and empty labels: they are findings here.
func Default() Options {
	c := data.Default()
	c.AllowEmptyLabels = true
	return Options{Data: c, Tokens: tokenizer.Bytes{}, MostNear: 2_000_000}
}

// bare is a template that gives what the messages say, so that chats and plain texts can be compared. It refuses what none of
// the templates of runs renders: a role that there is not, nobody to answer.
type bare struct{ known []chat.Template }

// newBare returns the template over those of runs.
func newBare(known []chat.Template) (bare, error) {
	if len(known) > 0 {
		return bare{known}, nil
	}
	deep, err := chat.OpenDeepSeek("")
	return bare{[]chat.Template{chat.Plain{}, deep}}, err
}

// Defaults returns no options.
func (bare) Defaults() chat.Options { return chat.Options{} }

// Begin returns that the answer is all content.
func (bare) Begin(*chat.Conversation) (chat.Start, error) { return chat.Start{}, nil }

// Render returns the contents, a blank line between them.
func (b bare) Render(c *chat.Conversation) (chat.Prompt, error) {
	var p chat.Prompt
	if err := b.refusal(c); err != nil {
		return p, err
	}
	for i, m := range c.Messages {
		if i > 0 {
			p.Pieces = append(p.Pieces, chat.Piece{Text: "\n\n"})
		}
		p.Pieces = append(p.Pieces, chat.Piece{Text: m.Content})
	}
	if p.Text() == "" {
		return p, errEmpty
	}
	return p, nil
}

// refusal returns why no template renders c, in the words of the last.
func (b bare) refusal(c *chat.Conversation) (err error) {
	for _, t := range b.known {
		with := *c
		with.Options = t.Defaults()
		if _, err = t.Render(&with); err == nil {
			return nil
		}
	}
	return err
}
