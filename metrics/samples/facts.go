package samples

import (
	"encoding/json"
	"strings"

	"furlong/rl"
)

// facts is what a body says of a sample in JSON: all that is neither in its row nor one value a token.
type facts struct {
	Request    int64           `json:"request"`
	Prompt     string          `json:"prompt"` // its id
	Set        string          `json:"set"`
	Label      string          `json:"label"`
	Metadata   json.RawMessage `json:"metadata,omitempty"`
	Stop       rl.Stop         `json:"stop"`
	Why        string          `json:"why"`
	Note       rl.Note         `json:"note,omitempty"`
	Cached     int             `json:"cached"`
	Retracted  int             `json:"retracted,omitempty"` // times
	Sampling   sampling        `json:"sampling"`
	PromptText *[]byte         `json:"prompt_text,omitempty"` // where it is not what its tokens say, end to end
	TextTokens int             `json:"text_tokens"`           // response tokens that spell the text
	Text       *[]byte         `json:"text,omitempty"`        // where no number of tokens does
}

type sampling struct {
	Temperature float64 `json:"temperature"`
	TopP        float64 `json:"top_p"`
	TopK        int     `json:"top_k"`
	MinP        float64 `json:"min_p"`
	MaxTokens   int     `json:"max_tokens"`
	StopIDs     []int32 `json:"stop_ids,omitempty"`
	Seed        uint64  `json:"seed"`

	RepetitionPenalty float64   `json:"repetition_penalty,omitempty"`
	FrequencyPenalty  float64   `json:"frequency_penalty,omitempty"`
	PresencePenalty   float64   `json:"presence_penalty,omitempty"`
	Bias              []rl.Bias `json:"bias,omitempty"`
	MinTokens         int       `json:"min_tokens,omitempty"`
}

// newFacts gathers the facts of s. texts are the texts of its tokens, prompt first.
func newFacts(s *Sample, texts [][]byte) facts {
	p := len(s.Prompt.Tokens)
	f := facts{
		Request: s.Request, Prompt: s.Prompt.ID, Set: s.Prompt.Set, Label: s.Prompt.Label, Metadata: s.Prompt.Metadata, Stop: s.Stop, Why: s.Why, Note: s.Note, Cached: s.CachedTokens, Retracted: s.Retractions,
		Sampling: sampling(s.Sampling),
	}
	if spelled(texts[:p]) != s.Prompt.Text {
		b := []byte(s.Prompt.Text)
		f.PromptText = &b
	}
	// The stop token is often not part of the text.
	for _, n := range []int{len(s.Response), len(s.Response) - 1} {
		if n >= 0 && spelled(texts[p:p+n]) == s.Text {
			f.TextTokens = n
			return f
		}
	}
	b := []byte(s.Text)
	f.Text = &b
	return f
}

func spelled(texts [][]byte) string {
	var b strings.Builder
	for _, t := range texts {
		b.Write(t)
	}
	return b.String()
}

// fill puts the facts into s, whose prompt and response tokens are there already.
func (f facts) fill(s *rl.Sample, texts []string) {
	p := len(s.Prompt.Tokens)
	s.Request, s.Stop, s.Why, s.Note, s.CachedTokens, s.Retractions, s.Sampling = f.Request, f.Stop, f.Why, f.Note, f.Cached, f.Retracted, rl.Sampling(f.Sampling)
	s.Prompt.ID, s.Prompt.Set, s.Prompt.Label, s.Prompt.Metadata = f.Prompt, f.Set, f.Label, f.Metadata
	s.Prompt.Text = strings.Join(texts[:p], "")
	if f.PromptText != nil {
		s.Prompt.Text = string(*f.PromptText)
	}
	s.Text = strings.Join(texts[p:p+min(max(f.TextTokens, 0), len(s.Response))], "")
	if f.Text != nil {
		s.Text = string(*f.Text)
	}
}
