package chat

import (
	"fmt"
	"strings"

	"furlong/tokenizer"
)

// A Piece is a stretch of a prompt: text, or one control token by its spelling. Text that spells a control token is
// text; that is why a prompt is more than a string.
type Piece struct {
	Text    string
	Control bool
}

// A Prompt is what the model reads before it answers.
type Prompt struct {
	Pieces []Piece
	Start  Start
}

// Text returns the prompt as one string, for people: encoding it would take forged control tokens for real.
func (p *Prompt) Text() string {
	var b strings.Builder
	for _, piece := range p.Pieces {
		b.WriteString(piece.Text)
	}
	return b.String()
}

// Encode returns the ids of the prompt. A control token that the vocabulary does not have is an error.
func (p *Prompt) Encode(t tokenizer.Tokenizer) ([]int32, error) {
	var ids []int32
	for _, piece := range p.Pieces {
		if !piece.Control {
			ids = append(ids, t.Encode(piece.Text)...)
			continue
		}
		token := t.EncodeSpecial(piece.Text)
		if len(token) != 1 {
			return nil, fmt.Errorf("chat: %q is %d tokens of the vocabulary, want one: the template is another model's", piece.Text, len(token))
		}
		ids = append(ids, token[0])
	}
	return ids, nil
}

// text appends text; neighbouring text is one piece, so that it is encoded as one.
func (p *Prompt) text(s string) {
	if s == "" {
		return
	}
	if n := len(p.Pieces); n > 0 && !p.Pieces[n-1].Control {
		p.Pieces[n-1].Text += s
		return
	}
	p.Pieces = append(p.Pieces, Piece{Text: s})
}

// control appends a control token.
func (p *Prompt) control(token string) {
	p.Pieces = append(p.Pieces, Piece{Text: token, Control: true})
}

// marked appends text of our own or of the checkpoint's, in which the tool mark is meant.
func (p *Prompt) marked(s string) {
	for {
		before, after, found := strings.Cut(s, dsml)
		p.text(before)
		if !found {
			return
		}
		p.control(dsml)
		s = after
	}
}
