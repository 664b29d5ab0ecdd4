package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"furlong/metrics"
)

// unjudged is the score of a sample that could not be judged.
const unjudged = -1

// A resultRow is one line.
type resultRow struct {
	id        string
	scores    []int8
	answers   []string
	lengths   []int
	truncated []bool
}

// readRow reads one line.
func readRow(text []byte) (*resultRow, error) {
	keys := map[string]json.RawMessage{}
	err := metrics.Fields(text, func(key, raw []byte) error {
		if _, twice := keys[string(key)]; twice {
			return fmt.Errorf("key %q is there twice", key)
		}
		keys[string(key)] = bytes.Clone(raw)
		return nil
	})
	if err != nil {
		return nil, notJSON(text, err)
	}
	row := &resultRow{}
	if row.id, err = readID(keys["id"]); err != nil {
		return nil, err
	}
	single, many := keys["score"], keys["scores"]
	switch {
	case single != nil && many != nil:
		return nil, errors.New("has both score and scores, want one of them")
	case single == nil && many == nil:
		return nil, errors.New("has neither score nor scores, want scores: a list of 0 and 1, or score: 0 or 1")
	case single != nil && keys["id"] == nil:
		return nil, errors.New("has a score and no id, want to know of which problem it is")
	case single != nil:
		return row, row.one(keys)
	}
	return row, row.list(keys)
}

// notJSON says what is wrong with a line that is no JSON object.
func notJSON(text []byte, err error) error {
	if strings.Contains(err.Error(), "there twice") {
		return err
	}
	var any any
	if bad := json.Unmarshal(text, &any); bad != nil {
		return fmt.Errorf("is no JSON: %w", bad)
	}
	return fmt.Errorf("is no JSON object: %.60s", text)
}

// readID returns the text of an id, "" for none.
func readID(raw json.RawMessage) (string, error) {
	if raw == nil {
		return "", nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err == nil && text != "" && string(raw) != "null" {
		return text, nil
	}
	if _, err := strconv.ParseFloat(string(raw), 64); err == nil {
		return string(raw), nil
	}
	return "", fmt.Errorf("id is %.40s, want a text or a number", raw)
}

// one reads a row of a single sample.
func (row *resultRow) one(keys map[string]json.RawMessage) error {
	s, err := readScore(keys["score"])
	if err != nil {
		return fmt.Errorf("score is %w", err)
	}
	row.scores = []int8{s}
	lists := map[string]json.RawMessage{}
	for _, key := range [][2]string{{"answer", "answers"}, {"length", "lengths"}, {"truncated", "truncated"}} {
		raw := keys[key[0]]
		if raw != nil {
			lists[key[1]] = slices.Concat(json.RawMessage("["), raw, json.RawMessage("]"))
		}
		if key[0] != key[1] && raw != nil && keys[key[1]] != nil {
			return fmt.Errorf("has both %s and %s, want one of them", key[0], key[1])
		}
	}
	return row.more(lists)
}

// list reads a row of several samples.
func (row *resultRow) list(keys map[string]json.RawMessage) error {
	var raws []json.RawMessage
	if err := json.Unmarshal(keys["scores"], &raws); err != nil || raws == nil {
		return fmt.Errorf("scores is %.40s, want a list of 0 and 1", keys["scores"])
	}
	if len(raws) == 0 {
		return errors.New("scores is empty, want at least one")
	}
	for i, raw := range raws {
		s, err := readScore(raw)
		if err != nil {
			return fmt.Errorf("scores[%d] is %w", i, err)
		}
		row.scores = append(row.scores, s)
	}
	return row.more(keys)
}

// more reads what may stand beside scores.
func (row *resultRow) more(keys map[string]json.RawMessage) error {
	var answers []json.RawMessage
	for _, l := range []struct {
		key, want string
		to        any
	}{
		{"answers", "a list of answers", &answers},
		{"lengths", "a list of whole numbers", &row.lengths},
		{"truncated", "a list of true and false", &row.truncated},
	} {
		raw := keys[l.key]
		if raw == nil {
			continue
		}
		if err := json.Unmarshal(raw, l.to); err != nil || l.key != "answers" && bytes.Contains(raw, []byte("null")) || raw[0] != '[' {
			return fmt.Errorf("%s is %.60s, want %s", l.key, raw, l.want)
		}
		if n := reflect.ValueOf(l.to).Elem().Len(); n != len(row.scores) {
			return fmt.Errorf("has %d %s and %d scores, want as many", n, l.key, len(row.scores))
		}
	}
	for i, n := range row.lengths {
		if n < 0 || n > math.MaxInt32 {
			return fmt.Errorf("lengths[%d] is %d, want 0 or more tokens", i, n)
		}
	}
	for i, raw := range answers {
		a, err := readAnswer(raw)
		if err != nil {
			return fmt.Errorf("answers[%d] is %w", i, err)
		}
		row.answers = append(row.answers, a)
	}
	return nil
}

// readScore reads 0, 1 or null.
func readScore(raw json.RawMessage) (int8, error) {
	if string(raw) == "null" {
		return unjudged, nil
	}
	v, ok := metrics.ParseNumber(raw)
	if !ok || v != 0 && v != 1 || raw[0] == '"' {
		return 0, fmt.Errorf("%.40s, want 0 or 1", raw)
	}
	return int8(v), nil
}

// readAnswer reads a text, a number, or null for none.
func readAnswer(raw json.RawMessage) (string, error) {
	var text *string
	if err := json.Unmarshal(raw, &text); err == nil {
		if text == nil {
			return "", nil
		}
		return strings.TrimSpace(*text), nil
	}
	if _, ok := metrics.ParseNumber(raw); ok {
		return string(raw), nil
	}
	return "", fmt.Errorf("%.40s, want a text or a number", raw)
}
