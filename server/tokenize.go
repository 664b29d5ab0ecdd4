package server

import (
	"net/http"

	"furlong/api/sglang"
)

func (s *Server) tokenizeRoutes() []route {
	return []route{
		{"POST", "/tokenize", user, s.tokenize},
		{"POST", "/v1/tokenize", user, s.tokenize},
		{"POST", "/detokenize", user, s.detokenize},
		{"POST", "/v1/detokenize", user, s.detokenize},
	}
}

var noTokenizer = bad("there is no tokenizer: the server runs without one")

// tokenize answers the ids that /generate would make of a text, or of a conversation.
func (s *Server) tokenize(w http.ResponseWriter, r *http.Request) {
	var in sglang.Tokenize
	if !s.read(w, r, &in) {
		return
	}
	ids, err := s.tokens(&in)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	out := sglang.Tokenized{Tokens: ids, MaxModelLen: s.parts.Model.Context, Count: sglang.Each[int]{Many: ids.Many}}
	for _, list := range ids.Lists {
		out.Count.Values = append(out.Count.Values, len(list))
	}
	write(w, http.StatusOK, out)
}

func (s *Server) tokens(in *sglang.Tokenize) (sglang.IDs, error) {
	switch {
	case s.parts.Tokenizer == nil:
		return sglang.IDs{}, noTokenizer
	case in.Prompt.IsZero() == (in.Messages == nil):
		return sglang.IDs{}, bad("prompt and messages are both there or both missing, want one of them")
	case in.Messages != nil:
		return s.rendered(in)
	}
	ids := sglang.IDs{Many: in.Prompt.Many, Lists: [][]int32{}}
	for _, text := range in.Prompt.Values {
		ids.Lists = append(ids.Lists, append([]int32{}, s.encode(text, or(in.AddSpecialTokens, true))...))
	}
	return ids, nil
}

// detokenize answers the text of ids.
func (s *Server) detokenize(w http.ResponseWriter, r *http.Request) {
	var in sglang.Detokenize
	if !s.read(w, r, &in) {
		return
	}
	out := sglang.Each[string]{Many: in.Tokens.Many, Values: []string{}}
	err := s.detokenizable(&in)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	for _, ids := range in.Tokens.Lists {
		out.Values = append(out.Values, s.decode(ids, !or(in.SkipSpecialTokens, true)))
	}
	write(w, http.StatusOK, sglang.Detokenized{Text: out})
}

func (s *Server) detokenizable(in *sglang.Detokenize) error {
	switch {
	case s.parts.Tokenizer == nil:
		return noTokenizer
	case in.Tokens.IsZero():
		return bad("tokens is missing, want a list of ids or a list of lists")
	}
	for _, ids := range in.Tokens.Lists {
		for i, id := range ids {
			if id < 0 || int(id) >= s.parts.Model.Vocab {
				return bad("tokens: id %d is %d, want 0 to %d", i, id, s.parts.Model.Vocab-1)
			}
		}
	}
	return nil
}
