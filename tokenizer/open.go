package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Open loads the tokenizer of a model directory: tokenizer.json, and of what stands beside it tokenizer_config.json and
// generation_config.json, either of which may be missing as long as one names the token that ends a response.
func Open(dir string) (*BPE, error) {
	t, err := openVocabulary(filepath.Join(dir, "tokenizer.json"))
	if err != nil {
		return nil, err
	}
	var use useFile
	if err := read(filepath.Join(dir, "tokenizer_config.json"), &use); err != nil {
		return nil, err
	}
	var gen generationFile
	if err := read(filepath.Join(dir, "generation_config.json"), &gen); err != nil {
		return nil, err
	}
	if err := t.learn(use, gen); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return t, nil
}

func openVocabulary(path string) (*BPE, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t, err := Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// read decodes a file that may be missing.
func read(path string, v any) error {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(raw, v)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// A useFile is tokenizer_config.json. Of its many fields these concern ids; the others describe other software.
type useFile struct {
	BOS, EOS, Pad       spelled
	AddBOS, AddEOS      bool
	PrefixSpace         bool
	SplitSpecial, Clean bool
	MaxLength           float64
	Tokens              map[int32]addedToken
}

func (u *useFile) UnmarshalJSON(raw []byte) error {
	var f struct {
		BOS          spelled              `json:"bos_token"`
		EOS          spelled              `json:"eos_token"`
		Pad          spelled              `json:"pad_token"`
		AddBOS       bool                 `json:"add_bos_token"`
		AddEOS       bool                 `json:"add_eos_token"`
		PrefixSpace  bool                 `json:"add_prefix_space"`
		SplitSpecial bool                 `json:"split_special_tokens"`
		Clean        bool                 `json:"clean_up_tokenization_spaces"`
		MaxLength    float64              `json:"model_max_length"` // 1e30 where there is no bound
		Tokens       map[int32]addedToken `json:"added_tokens_decoder"`
	}
	err := json.Unmarshal(raw, &f)
	*u = useFile(f)
	return err
}

// spelled is a token given by its spelling, alone or in an object with its flags, or null.
type spelled string

func (s *spelled) UnmarshalJSON(raw []byte) error {
	if raw[0] == '{' {
		var object addedToken
		err := json.Unmarshal(raw, &object)
		*s = spelled(object.Content)
		return err
	}
	return json.Unmarshal(raw, (*string)(s))
}

// A generationFile is generation_config.json, as far as it concerns ids.
type generationFile struct {
	BOS *int32 `json:"bos_token_id"`
	Pad *int32 `json:"pad_token_id"`
	EOS idList `json:"eos_token_id"`
}

// An idList is one id or a list.
type idList []int32

func (l *idList) UnmarshalJSON(raw []byte) error {
	if raw[0] == '[' || string(raw) == "null" {
		return json.Unmarshal(raw, (*[]int32)(l))
	}
	*l = make(idList, 1)
	return json.Unmarshal(raw, &(*l)[0])
}

// learn takes the facts from both files. What tokenizer_config.json names counts; generation_config.json adds what it
// doesn't, and may not contradict it. Without a token for padding EOS pads.
func (t *BPE) learn(use useFile, gen generationFile) (err error) {
	if err := t.checkUse(use); err != nil {
		return err
	}
	f := Facts{AddBOS: use.AddBOS, AddEOS: use.AddEOS}
	if use.MaxLength > 0 && use.MaxLength < 1<<40 {
		f.MaxLength = int(use.MaxLength)
	}
	if f.BOS, err = t.settle("bos_token", use.BOS, gen.BOS); err != nil {
		return err
	}
	var first *int32
	if len(gen.EOS) > 0 {
		first = &gen.EOS[0]
	}
	if use.EOS != "" {
		first = nil // the list may have another order
	}
	if f.EOS, err = t.settle("eos_token", use.EOS, first); err != nil {
		return err
	}
	if f.EOS < 0 {
		return errNoEnd
	}
	if f.Pad, err = t.settle("pad_token", use.Pad, gen.Pad); err != nil {
		return err
	}
	if f.Pad < 0 {
		f.Pad = f.EOS
	}
	if f.AddBOS && f.BOS < 0 {
		return errors.New("add_bos_token is true, but there is no bos_token")
	}
	f.Stops, err = t.stops(f.EOS, gen.EOS)
	t.facts = f
	return err
}

// checkUse refuses what would change ids or text, and added tokens that tokenizer.json does not have.
func (t *BPE) checkUse(use useFile) error {
	switch {
	case use.PrefixSpace:
		return errors.New("tokenizer_config.json: add_prefix_space is true, want false")
	case use.SplitSpecial:
		return errors.New("tokenizer_config.json: split_special_tokens is true, want false")
	case use.Clean:
		return errors.New("tokenizer_config.json: clean_up_tokenization_spaces is true, want false")
	}
	for id, a := range use.Tokens {
		if got, err := t.ID(a.Content); err != nil || got != id {
			return fmt.Errorf("tokenizer_config.json: added token %d is %q, want one that tokenizer.json has under this id", id, a.Content)
		}
	}
	return nil
}

// settle returns the id of a token that one file spells and the other numbers, -1 if neither does.
func (t *BPE) settle(name string, spelling spelled, number *int32) (int32, error) {
	if number != nil && (*number < 0 || int(*number) >= t.Size()) {
		return 0, fmt.Errorf("generation_config.json: %s_id is %d, want 0 to %d", name, *number, t.Size()-1)
	}
	if spelling == "" {
		if number == nil {
			return -1, nil
		}
		return *number, nil
	}
	id, err := t.ID(string(spelling))
	if err != nil {
		return 0, fmt.Errorf("tokenizer_config.json: %s: %w", name, err)
	}
	if number != nil && *number != id {
		return 0, fmt.Errorf("%s is %q, %d, but generation_config.json says %d", name, spelling, id, *number)
	}
	return id, nil
}

// stops returns EOS and what else ends a response, each once.
func (t *BPE) stops(eos int32, more idList) ([]int32, error) {
	all := []int32{eos}
	for _, id := range more {
		if id < 0 || int(id) >= t.Size() {
			return nil, fmt.Errorf("generation_config.json: eos_token_id is %d, want 0 to %d", id, t.Size()-1)
		}
		if !slices.Contains(all, id) {
			all = append(all, id)
		}
	}
	return all, nil
}
