package sglang

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Decode reads one JSON object into the fields of the struct that to points to. Keys are exact, the last of equal ones counts, null leaves a field as it
// was, and keys that are not a field's are ignored.
func Decode(raw []byte, to any) error { return decode(raw, to, nil) }

// decode is Decode with a say on keys that are no field's.
func decode(raw []byte, to any, unknown func(key string, known []string) error) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return fmt.Errorf("body %w", plain(err))
	}
	if members == nil {
		return errors.New("body is null, want an object")
	}
	v := reflect.ValueOf(to).Elem()
	fields := fieldsOf(v.Type())
	for _, name := range fields.names {
		if err := member(members[name], v.Field(fields.index[name])); err != nil {
			return fmt.Errorf("%s %w", name, err)
		}
	}
	return strangers(members, fields, unknown)
}

// strangers asks unknown about each key that is no field's, in order.
func strangers(members map[string]json.RawMessage, fields *fields, unknown func(string, []string) error) error {
	if unknown == nil {
		return nil
	}
	var keys []string
	for key := range members {
		if _, ok := fields.index[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		if err := unknown(key, fields.names); err != nil {
			return err
		}
	}
	return nil
}

// member reads one value. nil and null leave the field, unless null means something to it.
func member(raw json.RawMessage, field reflect.Value) error {
	if raw == nil {
		return nil
	}
	if bytes.Equal(raw, []byte("null")) {
		if n, ok := reflect.TypeAssert[interface{ setNull() }](field.Addr()); ok {
			n.setNull()
		}
		return nil
	}
	if field.Kind() == reflect.Slice && field.Type().Elem().Kind() == reflect.Uint8 { // kept as it came
		field.SetBytes(bytes.Clone(raw))
		return nil
	}
	field.SetZero() // what a pointer led to may be shared
	if err := json.Unmarshal(raw, field.Addr().Interface()); err != nil {
		return plain(err)
	}
	return nil
}

// Value reads one JSON value into what to points to. Absent and null leave it.
func Value(raw []byte, to any) error { return member(raw, reflect.ValueOf(to).Elem()) }

// fields are a struct's, by their JSON names.
type fields struct {
	names []string // in the order of the struct
	index map[string]int
}

var known sync.Map // of *fields by reflect.Type: what tags say never changes

func fieldsOf(t reflect.Type) *fields {
	if f, ok := known.Load(t); ok {
		return f.(*fields)
	}
	f := &fields{index: map[string]int{}}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name != "" && name != "-" {
			f.names = append(f.names, name)
			f.index[name] = i
		}
	}
	known.Store(t, f)
	return f
}

// plain says in our words what encoding/json found wrong with a value.
func plain(err error) error {
	var mistyped *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &mistyped):
		return fmt.Errorf("is a %s, want %s", mistyped.Value, kindName(mistyped.Type))
	case errors.As(err, &syntax):
		return fmt.Errorf("is no JSON: at byte %d: %s", syntax.Offset, syntax.Error())
	}
	return err
}

func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return kindName(t.Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.Int32:
		return "an integer of 32 bits"
	case reflect.Int, reflect.Int64:
		return "an integer of 64 bits"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "a list"
	}
	return "an object"
}

// lenient reads those members into the fields of to that have the right type.
func lenient(members map[string]json.RawMessage, to any) error {
	v := reflect.ValueOf(to).Elem()
	fields := fieldsOf(v.Type())
	for _, name := range fields.names {
		field := v.Field(fields.index[name])
		before := reflect.ValueOf(field.Interface())
		if member(members[name], field) != nil {
			field.Set(before)
		}
	}
	return nil
}
