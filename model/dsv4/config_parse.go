package dsv4

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// configDepth bounds how deep values may nest; a configuration needs 4.
const configDepth = 32

// parseConfig returns the object that data holds. Unlike the standard decoder it refuses an object that has a key twice.
func parseConfig(data []byte) (map[string]any, error) {
	var whole json.RawMessage
	if err := json.Unmarshal(data, &whole); err != nil {
		return nil, fmt.Errorf("config is not JSON: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := parseValue(d, configDepth)
	if err != nil {
		return nil, err
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("config is %s, want an object", show(v))
	}
	return object, nil
}

// parseValue returns the next value as nil, bool, string, json.Number, []any or map[string]any.
func parseValue(d *json.Decoder, depth int) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	if t != json.Delim('{') && t != json.Delim('[') {
		return t, nil
	}
	if depth == 0 {
		return nil, fmt.Errorf("config nests deeper than %d", configDepth)
	}
	if t == json.Delim('[') {
		return parseList(d, depth-1)
	}
	return parseObject(d, depth-1)
}

func parseList(d *json.Decoder, depth int) (any, error) {
	list := []any{}
	for d.More() {
		v, err := parseValue(d, depth)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := d.Token()
	return list, err
}

func parseObject(d *json.Decoder, depth int) (any, error) {
	object := map[string]any{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		name := t.(string) // the decoder gives nothing else here
		if _, twice := object[name]; twice {
			return nil, fmt.Errorf("%s stands twice, want once", show(name))
		}
		if object[name], err = parseValue(d, depth); err != nil {
			return nil, err
		}
	}
	_, err := d.Token()
	return object, err
}

// show returns v as an error should name it: short, whatever the file holds.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return strconv.Quote(cut(v))
	case json.Number:
		return cut(v.String())
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return fmt.Sprint(v)
}

func cut(s string) string {
	const most = 48
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}

// What integer, number and token want, in the words of an error.
const (
	anInteger = "an integer"
	aNumber   = "a finite number"
	aToken    = "a token id"
)

// integer accepts whole numbers however they are written: 1, 1.0, 1e3.
func integer(v any) (int, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	if i, err := strconv.Atoi(n.String()); err == nil {
		return i, true
	}
	f, err := n.Float64()
	const exact = 1 << 53 // beyond it a float64 may be another number than the one written
	if err != nil || f != math.Trunc(f) || math.Abs(f) > exact {
		return 0, false
	}
	return int(f), true
}

func number(v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}

func token(v any) (int32, bool) {
	i, ok := integer(v)
	return int32(i), ok && i >= 0 && i <= math.MaxInt32
}
