package grammar

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// CompileTags returns free texts with structures in them. The source is JSON, as SGLang's structural tags are:
//
//	{"structures": [{"begin": "<function=add>", "schema": {...}, "end": "</function>"}], "triggers": ["<function="]}
//
// A text is anything, of any bytes, until it has read one of the triggers. Then it goes on with a structure that begins with that trigger: its begin,
// JSON that its schema holds of, its end; and then it is free again. It may end wherever it is free.
func CompileTags(src string) (*Grammar, error) {
	g, err := compileTags(src)
	if err != nil {
		return nil, fmt.Errorf("structural tag: %w", err)
	}
	return g, nil
}

func compileTags(src string) (*Grammar, error) {
	v, err := parseJSON(src)
	if err != nil {
		return nil, err
	}
	t := &tags{d: newDraft()}
	if err := t.read(v); err != nil {
		return nil, err
	}
	root := t.d.rule("structural tag")
	t.d.define(root, t.free)
	return t.d.link(root)
}

// A tags is a structural tag being compiled.
type tags struct {
	d          *draft
	triggers   []string
	structures []structure
	watch      *watcher
}

type structure struct {
	begin, end string
	schema     int32 // a rule
}

func (t *tags) read(v *value) error {
	if err := v.only("type", "structures", "triggers"); err != nil {
		return err
	}
	if kind := v.index["type"]; kind != nil && kind.text != "structural_tag" {
		return fmt.Errorf("type is %.40s, want structural_tag", kind.compact())
	}
	structures, triggers := v.index["structures"], v.index["triggers"]
	if structures == nil || structures.kind != array || triggers == nil || triggers.kind != array {
		return errors.New("it needs structures and triggers, both lists")
	}
	for _, e := range triggers.list {
		if e.kind != str || e.text == "" {
			return fmt.Errorf("%s is %.40s, want a string that is not empty", e.path(), e.compact())
		}
		t.triggers = append(t.triggers, e.text)
	}
	j := newJSON(t.d)
	for _, e := range structures.list {
		if err := t.structure(e, j); err != nil {
			return err
		}
	}
	return t.match()
}

// only refuses a value that is no object, and members with other names.
func (v *value) only(names ...string) error {
	if err := v.want(object, "an object"); err != nil {
		return err
	}
	for _, key := range v.keys {
		if !slices.Contains(names, key) {
			return fmt.Errorf("%s: %.40q is not supported, want %s", v.path(), key, strings.Join(names, ", "))
		}
	}
	return nil
}

func (t *tags) structure(v *value, j *jsonRules) error {
	if err := v.only("begin", "schema", "end"); err != nil {
		return err
	}
	begin, schema, end := v.index["begin"], v.index["schema"], v.index["end"]
	if begin == nil || begin.kind != str || end == nil || end.kind != str || schema == nil {
		return fmt.Errorf("%s: want strings begin and end, and a schema", v.path())
	}
	id, err := newSchemas(t.d, j, schema).compile()
	if err != nil {
		return err
	}
	t.structures = append(t.structures, structure{begin.text, end.text, id})
	return nil
}

// match checks that triggers and structures belong together, and watches for the triggers. One trigger within another would hide it.
func (t *tags) match() error {
	for _, s := range t.structures {
		if !t.anyTrigger(s.begin) {
			return fmt.Errorf("begin %.60q begins with no trigger", s.begin)
		}
	}
	if n := len(strings.Join(t.triggers, "")); n > maxTriggers {
		return fmt.Errorf("triggers are %d bytes together, want at most %d", n, maxTriggers)
	}
	t.watch = newWatcher()
	for i, word := range t.triggers {
		if len(t.of(word)) == 0 {
			return fmt.Errorf("trigger %.60q begins no structure", word)
		}
		t.watch.add(word, i)
	}
	t.watch.link()
	for i, word := range t.triggers {
		if hidden := t.watch.within(word); hidden >= 0 && hidden != i && !strings.HasPrefix(word, t.triggers[hidden]) {
			return fmt.Errorf("trigger %.60q has trigger %.60q in it", word, t.triggers[hidden])
		}
	}
	return nil
}

func (t *tags) anyTrigger(begin string) bool {
	for _, word := range t.triggers {
		if strings.HasPrefix(begin, word) {
			return true
		}
	}
	return false
}

// of lists the structures that a trigger begins.
func (t *tags) of(trigger string) []structure {
	var all []structure
	for _, s := range t.structures {
		if strings.HasPrefix(s.begin, trigger) {
			all = append(all, s)
		}
	}
	return all
}

// free is the whole text. Its nodes are the watcher's states; where a trigger was read, a structure follows.
func (t *tags) free(d *draft, from, to int32) {
	nodes := make([]int32, len(t.watch.states))
	for i := range nodes {
		nodes[i] = d.node()
	}
	d.free(from, nodes[0])
	for i, s := range t.watch.states {
		if s.found >= 0 {
			t.structured(d, nodes[i], nodes[0], t.triggers[s.found])
			continue
		}
		d.free(nodes[i], to)
		for b, next := range s.next {
			d.read(nodes[i], byte(b), byte(b), nodes[next])
		}
	}
}

func (t *tags) structured(d *draft, from, to int32, trigger string) {
	for _, s := range t.of(trigger) {
		sequence(text(s.begin[len(trigger):]), rule(s.schema), text(s.end))(d, from, to)
	}
}

// A watcher finds the first of several words that a text has read: the automaton of Aho and Corasick. State 0 is where nothing was read.
type watcher struct{ states []watching }

type watching struct {
	next  [256]int32 // -1 until link for none
	found int        // a word that was read, -1 for none
}

func newWatcher() *watcher {
	w := &watcher{}
	w.state()
	return w
}

func (w *watcher) state() int32 {
	s := watching{found: -1}
	for b := range s.next {
		s.next[b] = -1
	}
	w.states = append(w.states, s)
	return int32(len(w.states) - 1)
}

// add appends the states of a word. A word that has another at its begin is never found, so it ends there.
func (w *watcher) add(word string, number int) {
	at := int32(0)
	for _, b := range []byte(word) {
		if w.states[at].next[b] < 0 {
			n := w.state()
			w.states[at].next[b] = n
		}
		at = w.states[at].next[b]
	}
	if w.states[at].found < 0 {
		w.states[at].found = number
	}
}

// link lets states without a next one fall back to that of the longest end of what was read.
func (w *watcher) link() {
	back := make([]int32, len(w.states))
	for queue := []int32{0}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		s := &w.states[at]
		if found := w.states[back[at]].found; s.found < 0 {
			s.found = found
		}
		for b, next := range s.next {
			fall := int32(0)
			if at != 0 {
				fall = w.states[back[at]].next[b]
			}
			if next < 0 {
				s.next[b] = fall
			} else {
				back[next] = fall
				queue = append(queue, next)
			}
		}
	}
}

// within returns the first word that is found in a word.
func (w *watcher) within(word string) int {
	at := int32(0)
	for _, b := range []byte(word) {
		if at = w.states[at].next[b]; w.states[at].found >= 0 {
			return w.states[at].found
		}
	}
	return -1
}
