package dsv4

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"furlong/nearest"
)

// complaints collects what is wrong with a configuration.
type complaints struct{ errs []error }

func (w *complaints) bad(format string, args ...any) {
	w.errs = append(w.errs, fmt.Errorf(format, args...))
}

func (w *complaints) join() error { return errors.Join(w.errs...) }

// A configReader holds the values of a config.json by name. A key of a known object is named with it: rope_scaling.factor.
type configReader struct {
	complaints
	values map[string]any
	known  map[string]bool // every name that was asked for, present or not
}

func newConfigReader(object map[string]any) *configReader {
	r := &configReader{values: map[string]any{}, known: map[string]bool{}}
	r.flatten("", object)
	return r
}

// flatten enters the keys of object, and those of the objects in objectKeys, as values.
func (r *configReader) flatten(prefix string, object map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(object)) {
		name, v := prefix+key, object[key]
		inner, isObject := v.(map[string]any)
		switch {
		case strings.Contains(key, "."):
			r.bad("%s is no key we know: none has a dot", show(name)) // it could pass for a key of an object
		case !slices.Contains(objectKeys, name):
			r.values[name] = v
		case isObject:
			r.flatten(name+".", inner)
		case v == nil && strings.HasPrefix(name, "rope_"): // how files say that nothing is scaled
		default:
			r.bad("%s is %s, want an object", name, show(v))
		}
	}
}

// says tells whether the file has any of names, right or wrong.
func (r *configReader) says(names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool { _, ok := r.values[n]; return ok })
}

// A found value stands under key.
type found[T comparable] struct {
	key   string
	value T
}

// findAll returns what the file says under names and reports what is not what parse wants.
func findAll[T comparable](r *configReader, want string, parse func(any) (T, bool), names ...string) []found[T] {
	var all []found[T]
	for _, name := range names {
		r.known[name] = true
		v, ok := r.values[name]
		if !ok {
			continue
		}
		x, ok := parse(v)
		if !ok {
			r.bad("%s is %s, want %s", name, show(v), want)
			continue
		}
		all = append(all, found[T]{name, x})
	}
	return all
}

// settle returns the one value that all say and reports those that say another.
func settle[T comparable](r *configReader, all []found[T]) (v T, ok bool) {
	if len(all) == 0 {
		return v, false
	}
	for _, f := range all[1:] {
		if f.value != all[0].value {
			r.bad("%s is %v but %s is %v", all[0].key, all[0].value, f.key, f.value)
		}
	}
	return all[0].value, true
}

// read sets *at to what the file says under names. Where it says nothing, *at stays, and is missing if it is needed.
func read[T comparable](r *configReader, at *T, need bool, want string, parse func(any) (T, bool), names ...string) {
	if v, ok := settle(r, findAll(r, want, parse, names...)); ok {
		*at = v
	} else if need && !r.says(names...) {
		r.bad("%s is missing, want %s", names[0], want)
	}
}

// listOf returns the list under name, or nil if there is none or one of its elements is not what parse wants.
func listOf[T any](r *configReader, name, want string, parse func(any) (T, bool)) []T {
	r.known[name] = true
	v, ok := r.values[name]
	if !ok {
		return nil
	}
	raw, ok := v.([]any)
	if !ok {
		r.bad("%s is %s, want a list", name, show(v))
		return nil
	}
	list := make([]T, len(raw))
	for i, v := range raw {
		if list[i], ok = parse(v); !ok {
			r.bad("%s[%d] is %s, want %s", name, i, show(v), want)
			return nil
		}
	}
	return list
}

// checkFixed reports values of fixedKeys that ask for another model.
func (r *configReader) checkFixed() {
	for _, f := range fixedKeys {
		for _, name := range f.names {
			r.known[name] = true
			if v, ok := r.values[name]; ok && !same(v, f.want) {
				r.bad("%s is %s, want %s", name, show(v), show(f.want))
			}
		}
	}
}

// same tells whether v, as parsed, is want.
func same(v, want any) bool {
	if f, ok := number(v); ok {
		v = f
	}
	if i, ok := want.(int); ok {
		want = float64(i)
	}
	switch v.(type) {
	case float64, string, bool:
		return v == want
	}
	return false
}

// refuseUnread reports every key that nothing asked for, with the known one that looks most like it.
func (r *configReader) refuseUnread() {
	for _, k := range idleKeys {
		r.known[k.name] = true
	}
	unread := maps.Clone(r.values)
	maps.DeleteFunc(unread, func(name string, _ any) bool { return r.known[name] })
	names := slices.Sorted(maps.Keys(unread))
	const most = 20
	for _, name := range names[:min(len(names), most)] {
		hint := ""
		if near := nearest.Name(cut(name), slices.Sorted(maps.Keys(r.known))); near != "" {
			hint = ", the nearest is " + near
		}
		r.bad("%s is no key we know%s", show(name), hint)
	}
	if len(names) > most {
		r.bad("%d more keys are none we know", len(names)-most)
	}
}
