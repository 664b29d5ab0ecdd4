package parity

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"furlong/tokenizer"
)

// ErrNoTwin says that a side cannot be made again with another's formats.
var ErrNoTwin = errors.New("no such twin")

// A CheckError is a check that failed: what both sides said, and what to do.
type CheckError struct {
	Check
	Advice string
}

// Error names both values and the advice.
func (e *CheckError) Error() string {
	return fmt.Sprintf("%s: %s; %s", e.Name, e.Says, e.Advice)
}

// CheckNames are the checks that may fail, and may be ignored.
var CheckNames = []string{"tokenizer", "config", "weights", "version", "length", "vocabulary", "scoring", "meaning"}

// ProbeTexts are what both tokenizers are asked for.
var ProbeTexts = []string{
	"12+30=", "Hello, world!", "  two  spaces\n\tand a tab", "1234567890 3.14159", "na\u00efve caf\u00e9 \u2014 \u6771\u4eac \U0001F642", "def f(x):\n    return x**2\n",
}

// Describe says what a tokenizer is.
func Describe(t tokenizer.Tokenizer) Tokenizer {
	h := sha256.New()
	for id := range int32(t.Size()) {
		text := t.AppendSpecial(nil, id)
		_ = binary.Write(h, binary.LittleEndian, []int32{id, int32(len(text)), int32(count(t.IsSpecial(id)))}) // a hash takes all that it is given
		h.Write(text)
	}
	d := Tokenizer{
		Size: t.Size(), Digest: hex.EncodeToString(h.Sum(nil)),
		IDs: map[string]int{"bos": int(t.BOS()), "eos": int(t.EOS()), "pad": int(t.Pad())},
	}
	for _, s := range ProbeTexts {
		d.Probes = append(d.Probes, Probe{s, t.Encode(s)})
	}
	return d
}

// A checker gathers checks and what failed.
type checker struct {
	ignore []string
	checks []Check
	errs   []error
}

// add notes a check. One that failed is an error, unless it is to be ignored.
func (c *checker) add(k Check, advice string) {
	if !k.OK && slices.Contains(c.ignore, k.Name) {
		k.Ignored = true
	}
	c.checks = append(c.checks, k)
	if !k.OK && !k.Ignored {
		all := append(slices.Clone(c.ignore), k.Name) // the flag's last list is the one that counts
		c.errs = append(c.errs, &CheckError{k, fmt.Sprintf("%s, or go on in spite of it with --ignore %s", advice, strings.Join(all, " "))})
	}
}

// err returns all that failed.
func (c *checker) err() error { return errors.Join(c.errs...) }

// runChecks compares what two sides say of themselves, holds sequences that are to grow by room tokens against both, and tries both. The error joins all that
// failed, but for what ignore names.
func runChecks(ctx context.Context, a, b Side, sayA, sayB About, seqs []Sequence, room int, ignore []string) ([]Check, error) {
	c := &checker{ignore: ignore}
	c.abouts(sayA, sayB)
	c.lengths(sayA, sayB, seqs, room)
	c.vocabulary(sayA, sayB, seqs)
	if err := c.err(); err != nil {
		return c.checks, err
	}
	c.scoring(ctx, a, b, seqs)
	if ctx.Err() != nil { // who is interrupted says nothing of a side
		return c.checks, context.Cause(ctx)
	}
	if err := c.err(); err != nil {
		return c.checks, err
	}
	if err := c.meanings(ctx, a, b, seqs, room); err != nil {
		return c.checks, err
	}
	return c.checks, c.err()
}

// abouts compares what both sides say of themselves.
func (c *checker) abouts(a, b About) {
	c.tokenizers(a.Tokenizer, b.Tokenizer)
	c.configs(a.Config, b.Config)
	c.weights(a, b)
	c.formats(a, b)
}

func (c *checker) tokenizers(a, b Tokenizer) {
	k := Check{Name: "tokenizer", A: a.words(), B: b.words(), OK: true}
	switch {
	case a.Size != 0 && b.Size != 0 && a.Size != b.Size:
		k.OK, k.Says = false, fmt.Sprintf("A's vocabulary has %d tokens, and B's %d", a.Size, b.Size)
	case a.Digest != "" && b.Digest != "" && a.Digest != b.Digest:
		k.OK, k.Says = false, fmt.Sprintf("the digest of A's vocabulary is %.12s, and that of B's %.12s", a.Digest, b.Digest)
	default:
		k.Says = cmpOr(differentIDs(a.IDs, b.IDs), differentProbe(a.Probes, b.Probes))
		k.OK = k.Says == ""
	}
	c.add(k, "give both the same tokenizer")
}

func cmpOr(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}

// words sums a tokenizer up.
func (t Tokenizer) words() string {
	var out []string
	if t.Size > 0 {
		out = append(out, fmt.Sprintf("%d tokens", t.Size))
	}
	if t.Digest != "" {
		out = append(out, fmt.Sprintf("digest %.12s", t.Digest))
	}
	for _, name := range slices.Sorted(maps.Keys(t.IDs)) {
		out = append(out, fmt.Sprintf("%s %d", name, t.IDs[name]))
	}
	if len(out) == 0 && len(t.Probes) > 0 {
		out = append(out, fmt.Sprintf("%d probe texts", len(t.Probes)))
	}
	return strings.Join(out, ", ")
}

func differentIDs(a, b map[string]int) string {
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if y, ok := b[name]; ok && a[name] != y {
			return fmt.Sprintf("%s is %d under A, and %d under B", name, a[name], y)
		}
	}
	return ""
}

func differentProbe(a, b []Probe) string {
	for _, x := range a {
		for _, y := range b {
			if x.Text == y.Text && !slices.Equal(x.IDs, y.IDs) {
				return fmt.Sprintf("%q is %s under A, and %s under B", x.Text, ids(x.IDs), ids(y.IDs))
			}
		}
	}
	return ""
}

// ids prints some ids.
func ids(list []int32) string {
	if len(list) > 12 {
		return fmt.Sprintf("%v... (%d)", list[:12], len(list))
	}
	return fmt.Sprint(list)
}

// configs compares what both say of the model's shape, value by value. What only one side says is no difference.
func (c *checker) configs(a, b map[string]any) {
	k := Check{Name: "config", OK: true, A: keys(a), B: keys(b)}
	says := DifferentConfigs(a, b)
	if n := len(says); n > mostSaid {
		says = append(says[:mostSaid], fmt.Sprintf("and %d more", n-mostSaid))
	}
	if len(says) > 0 {
		k.OK, k.Says = false, strings.Join(says, ", ")
	}
	c.add(k, "give both the same model")
}

// mostSaid is how many differences of two configs are told.
const mostSaid = 8

func keys(m map[string]any) string {
	if len(m) == 0 {
		return ""
	}
	return fmt.Sprintf("%d values", len(m))
}

// DifferentConfigs says in what two models differ, where both say; nil in nothing.
func DifferentConfigs(a, b map[string]any) (says []string) {
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if y, ok := b[name]; ok {
			says = append(says, different(name, plain(a[name]), plain(y))...)
		}
	}
	return says
}

// plain returns a value as JSON has it, so that numbers of all types compare.
func plain(v any) any {
	raw, err := json.Marshal(v)
	if err != nil {
		return v
	}
	var out any
	if json.Unmarshal(raw, &out) != nil {
		return v
	}
	return out
}

// different says in what two values differ: members of lists and of objects one by one.
func different(name string, a, b any) (out []string) {
	x, isList := a.([]any)
	y, both := b.([]any)
	if isList && both && len(x) == len(y) {
		for i := range x {
			out = append(out, different(fmt.Sprintf("%s[%d]", name, i), x[i], y[i])...)
		}
		return out
	}
	m, isMap := a.(map[string]any)
	n, both := b.(map[string]any)
	if isMap && both {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if v, ok := n[key]; ok {
				out = append(out, different(name+"."+key, m[key], v)...)
			}
		}
		return out
	}
	if reflect.DeepEqual(a, b) {
		return nil
	}
	return []string{fmt.Sprintf("%s is %s under A, and %s under B", name, short(a), short(b))}
}

// short prints a value.
func short(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if len(raw) > 80 {
		return string(raw[:80]) + "..."
	}
	return string(raw)
}

// weights compares digests where both have one of the same kind, or else the names of versions.
func (c *checker) weights(a, b About) {
	state := Check{Name: "weights", A: a.State, B: b.State, OK: true}
	comparable := a.State != "" && b.State != "" && a.Weights == b.Weights
	if comparable && a.State != b.State {
		state.OK, state.Says = false, fmt.Sprintf("the digest of A's weights is %.12s, and that of B's %.12s", a.State, b.State)
	}
	c.add(state, "give both the same checkpoint or version")
	version := Check{Name: "version", A: a.Version, B: b.Version, OK: true}
	if a.Version != "" && b.Version != "" && a.Version != b.Version && !comparable {
		version.OK, version.Says = false, fmt.Sprintf("A serves version %q, and B %q", a.Version, b.Version)
	}
	c.add(version, "update one of them")
}

// formats notes how numbers are held: different formats make a gap that is no mistake.
func (c *checker) formats(a, b About) {
	k := Check{Name: "formats", A: a.formats(), B: b.formats(), OK: true}
	if DifferentFormats(a, b) {
		k.Says = "formats differ: a gap is to be expected, and has to be explained by them"
	}
	c.add(k, "")
}

// DifferentFormats reports whether both say how they hold something, and hold it otherwise.
func DifferentFormats(a, b About) bool {
	for _, f := range [][2]string{{a.Weights, b.Weights}, {a.KV, b.KV}, {a.Arithmetic, b.Arithmetic}} {
		if f[0] != "" && f[1] != "" && f[0] != f[1] {
			return true
		}
	}
	return false
}

// formats names the formats of weights, attention state and arithmetic.
func (a About) formats() string {
	var out []string
	for _, f := range []struct{ name, value string }{{"weights", a.Weights}, {"kv", a.KV}, {"arithmetic", a.Arithmetic}} {
		if f.value != "" {
			out = append(out, f.name+" "+f.value)
		}
	}
	return strings.Join(out, ", ")
}

// lengths checks that every sequence, with room for so many tokens more, fits both contexts.
func (c *checker) lengths(a, b About, seqs []Sequence, room int) {
	k := Check{Name: "length", A: tokens(a.Context), B: tokens(b.Context), OK: true}
	for _, s := range seqs {
		n := len(s.Prompt) + len(s.Response) + room
		for _, side := range []struct {
			name  string
			about About
		}{{"A", a}, {"B", b}} {
			if most := side.about.Context; k.OK && most > 0 && n > most {
				k.OK, k.Says = false, fmt.Sprintf("sequence %s has %d tokens of prompt and %d of response, and %s's context has %d", s.ID, len(s.Prompt), n-len(s.Prompt), side.name, most)
			}
		}
		if k.OK && len(s.Prompt) == 0 {
			k.OK, k.Says = false, fmt.Sprintf("sequence %s has no prompt, and its first token nothing to follow", s.ID)
		}
	}
	c.add(k, "leave it out, ask for fewer new tokens, or give a longer context")
}

func tokens(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d tokens", n)
}

// vocabulary checks that both models have every token.
func (c *checker) vocabulary(a, b About, seqs []Sequence) {
	k := Check{Name: "vocabulary", A: tokens(a.Vocab), B: tokens(b.Vocab), OK: true}
	for _, s := range seqs {
		for i, id := range s.Tokens() {
			for _, side := range []struct {
				name string
				most int
			}{{"A", a.Vocab}, {"B", b.Vocab}} {
				if k.OK && (id < 0 || side.most > 0 && int(id) >= side.most) {
					k.OK, k.Says = false, fmt.Sprintf("token %d of sequence %s is %d, and %s's vocabulary has %d", i, s.ID, id, side.name, side.most)
				}
			}
		}
	}
	c.add(k, "make them with the tokenizer of this model")
}
