package config

import (
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

var durationType = reflect.TypeFor[time.Duration]()

// isText reports whether a value of type t reads and writes itself.
func isText(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) && p.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

func settable(t reflect.Type) bool {
	if isText(t) {
		return true
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Pointer:
		return t.Elem().Kind() != reflect.Slice && t.Elem().Kind() != reflect.Pointer && settable(t.Elem())
	case reflect.Map:
		return t == reflect.TypeFor[map[string]string]()
	case reflect.Bool, reflect.String, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	}
	return false
}

// read turns words into a value of type t. Its errors begin with the value seen.
func read(t reflect.Type, words []string, unit string) (reflect.Value, error) {
	v := reflect.New(t).Elem()
	switch {
	case !isText(t) && t.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(t, len(words), len(words)))
		for i, w := range words {
			if err := readScalar(v.Index(i), w, unit); err != nil {
				return v, err
			}
		}
		return v, nil
	case len(words) != 1:
		return v, fmt.Errorf("%q, want one word", words)
	case !isText(t) && t.Kind() == reflect.Map:
		m, err := ReadEnv(words[0])
		v.Set(reflect.ValueOf(m))
		return v, err
	case !isText(t) && t.Kind() == reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		return v, readScalar(v.Elem(), words[0], unit)
	}
	return v, readScalar(v, words[0], unit)
}

func readScalar(v reflect.Value, w, unit string) error {
	if isText(v.Type()) {
		err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(w))
		if err != nil {
			return fmt.Errorf("%q: %w", w, err)
		}
		return nil
	}
	if v.Type() == durationType {
		return readDuration(v, w)
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(w)
		return nil
	case reflect.Bool:
		return readBool(v, w)
	case reflect.Float32, reflect.Float64:
		return readFloat(v, w)
	}
	return readInt(v, w, unit)
}

func readBool(v reflect.Value, w string) error {
	switch strings.ToLower(w) {
	case "true", "1", "yes", "on":
		v.SetBool(true)
	case "false", "0", "no", "off":
		v.SetBool(false)
	default:
		return fmt.Errorf("%q, want true or false", w)
	}
	return nil
}

func readFloat(v reflect.Value, w string) error {
	f, err := strconv.ParseFloat(w, v.Type().Bits())
	if err != nil || math.IsNaN(f) {
		return fmt.Errorf("%q, want a number", w)
	}
	v.SetFloat(f)
	return nil
}

// readDuration takes Go's spelling (1m30s) and, as other stacks do, a bare number of seconds.
func readDuration(v reflect.Value, w string) error {
	if d, err := time.ParseDuration(w); err == nil {
		v.SetInt(int64(d))
		return nil
	}
	f, err := strconv.ParseFloat(w, 64)
	if ns := f * float64(time.Second); err == nil && math.Abs(ns) < 1<<63 {
		v.SetInt(int64(math.Round(ns)))
		return nil
	}
	return fmt.Errorf("%q, want a time such as 90s or 1m30s", w)
}

func readInt(v reflect.Value, w, unit string) error {
	digits, err := expand(w, unit)
	if err != nil {
		return err
	}
	if v.CanInt() {
		i, err := strconv.ParseInt(digits, 10, v.Type().Bits())
		if err != nil {
			return fmt.Errorf("%q, want a whole number of %d bits", w, v.Type().Bits())
		}
		v.SetInt(i)
		return nil
	}
	u, err := strconv.ParseUint(digits, 10, v.Type().Bits())
	if err != nil {
		return fmt.Errorf("%q, want a whole number of %d bits, not negative", w, v.Type().Bits())
	}
	v.SetUint(u)
	return nil
}

// words is the inverse of read.
func words(v reflect.Value, unit string) []string {
	t := v.Type()
	switch {
	case isText(t):
	case t.Kind() == reflect.Slice:
		var out []string
		for i := range v.Len() {
			out = append(out, writeScalar(v.Index(i), unit))
		}
		return out
	case t.Kind() == reflect.Map:
		return writeEnv(v.Interface().(map[string]string))
	case t.Kind() == reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	return []string{writeScalar(v, unit)}
}

func writeScalar(v reflect.Value, unit string) string {
	if isText(v.Type()) {
		text, err := v.Addr().Interface().(encoding.TextMarshaler).MarshalText()
		if err != nil {
			return fmt.Sprintf("(%v)", err)
		}
		return string(text)
	}
	switch {
	case v.Type() == durationType:
		return time.Duration(v.Int()).String()
	case v.Kind() == reflect.String:
		return v.String()
	case v.Kind() == reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case v.CanFloat():
		return strconv.FormatFloat(v.Float(), 'g', -1, v.Type().Bits())
	case v.CanUint():
		return compact(strconv.FormatUint(v.Uint(), 10), unit)
	}
	return compact(strconv.FormatInt(v.Int(), 10), unit)
}

// ReadEnv reads variables: a JSON object of strings and numbers, or K=V separated by any white space, each split at
// its first '=', with quotes where a value holds blanks. Line breaks are white space: launch lines are long. A # that begins a word
// hides the rest of its line.
func ReadEnv(text string) (map[string]string, error) {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		return readJSONEnv(text)
	}
	env := map[string]string{}
	list, err := scan(text, true)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	for _, w := range list {
		k, v, ok := strings.Cut(w.text, "=")
		if !ok || !isVariable(k) {
			return nil, fmt.Errorf("%q, want NAME=VALUE", w.text)
		}
		env[k] = v
	}
	return env, nil
}

func readJSONEnv(text string) (map[string]string, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		return nil, fmt.Errorf("%q, want a JSON object: %w", text, err)
	}
	env := map[string]string{}
	for k, raw := range object {
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			s = string(raw) // a number or a word: as it is written
		}
		if strings.ContainsAny(s[:min(1, len(s))], "[{") && s == string(raw) {
			return nil, fmt.Errorf("%q: %s is %s, want a string or a number", text, k, raw)
		}
		if !isVariable(k) {
			return nil, fmt.Errorf("%q: name %q: want letters, digits and underscores", text, k)
		}
		env[k] = s
	}
	return env, nil
}

func isVariable(s string) bool {
	for i, r := range s {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

func writeEnv(env map[string]string) []string {
	if len(env) == 0 {
		return nil
	}
	var list []string
	for _, k := range slices.Sorted(maps.Keys(env)) {
		list = append(list, k+"="+env[k])
	}
	return []string{Quote(list...)}
}
