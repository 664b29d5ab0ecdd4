package reward

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"furlong/rl"
)

// longestAnswer is the most bytes of an answer.
const longestAnswer = 1 << 20

// A question is what is told of a sample.
type question struct {
	Prompt   string          `json:"prompt"`
	Response string          `json:"response"`
	Label    string          `json:"label"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// ask returns the question about a sample, as JSON on one line.
func ask(s *rl.Sample) ([]byte, error) {
	q := question{Prompt: s.Prompt.Text, Response: s.Text, Label: s.Prompt.Label, Metadata: s.Prompt.Metadata}
	text, err := json.Marshal(q)
	if err != nil {
		return nil, fmt.Errorf("prompt %s: %w", s.Prompt.ID, err)
	}
	return text, nil
}

// settle puts an answer into a sample.
func settle(s *rl.Sample, answer []byte, key string) error {
	x, err := rewardOf(bytes.TrimSpace(answer), key)
	if err != nil {
		return err
	}
	s.Reward, s.Verdict, s.Why = x, rl.Wrong, fmt.Sprintf("reward %g", x)
	if x >= 1 {
		s.Verdict = rl.Right
	}
	return nil
}

// rewardOf reads a number, an object that has it under key, true or false, or a list of one of these.
func rewardOf(answer []byte, key string) (float64, error) {
	if len(answer) == 0 {
		return 0, errors.New("answer is empty, want a reward")
	}
	switch answer[0] {
	case '[':
		var list []json.RawMessage
		if err := json.Unmarshal(answer, &list); err != nil || len(list) != 1 || bytes.HasPrefix(bytes.TrimSpace(list[0]), []byte("[")) {
			return 0, fmt.Errorf("answer is %.60s, want one reward", answer)
		}
		return rewardOf(bytes.TrimSpace(list[0]), key)
	case '{':
		return underKey(answer, key)
	case 't', 'f':
		var right bool
		if json.Unmarshal(answer, &right) == nil && right {
			return 1, nil
		} else if !right && string(answer) == "false" {
			return 0, nil
		}
	}
	var x *float64
	if err := json.Unmarshal(answer, &x); err != nil || x == nil || math.IsInf(*x, 0) {
		return 0, fmt.Errorf("answer is %.60q, want a number or an object", answer)
	}
	return *x, nil
}

func underKey(answer []byte, key string) (float64, error) {
	if key == "" {
		return 0, fmt.Errorf("answer is the object %.60s, want --reward-key to say which of its keys is the reward", answer)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(answer, &object); err != nil {
		return 0, fmt.Errorf("answer is %.60q, want JSON: %w", answer, err)
	}
	raw := bytes.TrimSpace(object[key])
	if len(raw) == 0 {
		return 0, fmt.Errorf("answer %.60s has no %s, which --reward-key names", answer, key)
	}
	if raw[0] == '{' || raw[0] == '[' {
		return 0, fmt.Errorf("%s is %.40s, want a number", key, raw)
	}
	return rewardOf(raw, key)
}
